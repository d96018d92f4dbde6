//! One error type: either the system failed, or the bytes are not what a capture holds.

use std::io;

/// Why a capture could not be read. The message is one line: what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused (missing file, permission, disk).
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The bytes, or the recording's settings, do not allow what was asked.
    #[error("{0}")]
    Capture(String),
}

/// Result of everything that reads a capture.
pub type Result<T> = std::result::Result<T, Error>;

/// The same text on one line, with what a terminal would obey spelled out: names in messages come
/// from strangers.
pub fn printable(message: &str) -> String {
    // What no script has assigned is no more for a terminal than what steers it.
    let is_plain = |letter: char| matches!(letter, ' '..='~' | 'µ' | '–' | '…') || letter.is_alphanumeric();
    let spelled =
        |letter: char| if is_plain(letter) { letter.to_string() } else { letter.escape_default().to_string() };
    message.chars().map(spelled).collect()
}

/// A capture error with a formatted message.
macro_rules! bad {
    ($($argument:tt)*) => { $crate::error::Error::Capture(format!($($argument)*)) };
}
pub(crate) use bad;
