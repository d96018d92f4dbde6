//! How much of a CPU is known at present.
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
    /// Nothing recorded yet.
    Never,
    /// Records were lost up to this time; the next event tells who runs.
    Lost(i64),
    /// Known.
    Clear,
    /// A needed event is throttled since this time.
    Throttled(i64),
}
