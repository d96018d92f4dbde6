//! How much of a CPU is currently known.
//!
//! ```text
//!            first event            LOST                       THROTTLE               UNTHROTTLE
//!   Never  --------------> Clear --------> Lost ...   Clear --------> Throttled ---------------> Lost
//!     \______ LOST ______________________/^ |            ^
//!                                           \___ event __/
//! ```

/// Whether the present owner is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Nothing has been recorded yet.
    Never,
    /// Records were lost up to this time. The next event shows who runs.
    Lost(i64),
    Clear,
    /// A needed event has been throttled since this time.
    Throttled(i64),
}
