//! The state at given moments: who had a CPU, how long a task had run, and where it ran next.

mod charged;
mod moments;
mod owners;
mod tasks;

pub use charged::{Charged, Costs};
pub use moments::Moments;
pub use owners::Owners;
pub use tasks::{Next, Passed};
