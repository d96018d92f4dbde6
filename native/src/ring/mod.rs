//! ftrace's ring buffers as they lie in memory: pages of events per CPU, as trace-cmd and
//! `trace_pipe_raw` give them away.

mod clock;
mod page;
mod rounds;
mod source;

pub use clock::{Clock, Shift};
pub use page::{Missed, PageEnd, PageLayout, Row};
pub use rounds::Ring;
pub use source::{check_apart, Packed, Pages};
