//! One error type: either the system failed, or the bytes are not a valid capture.

use std::io;

/// Why a capture could not be read. The message is one line: what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused (missing file, permission, disk).
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The bytes, or the recording's settings, do not allow what was asked.
    #[error("{message}")]
    Capture {
        /// What went wrong.
        kind: Kind,
        /// The byte of the file where it went wrong, if known.
        offset: Option<u64>,
        /// The message for the user.
        message: String,
    },
}

/// Result of everything that reads a capture.
pub type Result<T> = std::result::Result<T, Error>;

/// Ways in which reading a capture goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The file is not a capture.
    NotACapture,
    /// The bytes are invalid.
    Damaged,
    /// The end is missing.
    CutShort,
    /// A version or a compression that is not supported.
    Unsupported,
    /// What was asked for was not recorded.
    Missing,
    /// The request cannot be met with this recording.
    Refused,
    /// The caller asked to stop.
    Interrupted,
    /// The file was changed while it was read.
    Changed,
}

impl Kind {
    /// Its name in Python.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NotACapture => "not_a_capture",
            Kind::Damaged => "damaged",
            Kind::CutShort => "cut_short",
            Kind::Unsupported => "unsupported",
            Kind::Missing => "missing",
            Kind::Refused => "refused",
            Kind::Interrupted => "interrupted",
            Kind::Changed => "changed",
        }
    }
}

impl Error {
    /// Appends a consequence to the message.
    pub(crate) fn followed_by(mut self, consequence: &str) -> Error {
        if let Error::Capture { message, .. } = &mut self {
            *message = format!("{message}: {consequence}");
        }
        self
    }
}

/// What the system says, without the number of the error.
pub fn said(error: &io::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" (os error ").map_or(text.as_str(), |(said, _)| said).to_owned()
}

/// The text on one line, with everything that a terminal would interpret escaped: names in messages come from
/// strangers.
pub fn printable(message: &str) -> String {
    // Terminals may interpret control characters, and code points that are unassigned today may become such.
    let is_plain = |letter: char| matches!(letter, ' '..='~' | 'µ' | '–' | '…') || letter.is_alphanumeric();
    let spelled =
        |letter: char| if is_plain(letter) { letter.to_string() } else { letter.escape_default().to_string() };
    message.chars().map(spelled).collect()
}

/// A capture error of a kind, at a byte if one is given, with a formatted message. Damage and missing ends need a byte.
macro_rules! bad {
    (Damaged, $($argument:tt)*) => { compile_error!("say where: bad!(Damaged(byte), ...)") };
    (CutShort, $($argument:tt)*) => { compile_error!("say where: bad!(CutShort(byte), ...)") };
    ($kind:ident, $($argument:tt)*) => { $crate::error::bad!(@ $kind, None, $($argument)*) };
    ($kind:ident($byte:expr), $($argument:tt)*) => { $crate::error::bad!(@ $kind, Some($byte), $($argument)*) };
    (@ $kind:ident, $offset:expr, $($argument:tt)*) => {
        $crate::error::Error::Capture {
            kind: $crate::error::Kind::$kind,
            offset: $offset,
            message: format!($($argument)*),
        }
    };
}
pub(crate) use bad;
