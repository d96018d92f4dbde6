//! To which part of the kernel's work samples belong.

mod classify;
mod folded;
mod parts;
mod patterns;

pub use classify::{classify, Classes, Rule, Rules, Stacks, Timer};
pub use folded::folded;
pub use parts::{parts, Part, Parts};
pub use patterns::Patterns;
