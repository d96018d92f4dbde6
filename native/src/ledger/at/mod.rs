//! What was at given moments: whose CPUs were, and what tasks had had and where they ran next.

mod moments;
mod owners;
mod tasks;

pub use moments::Moments;
pub use owners::Owners;
pub use tasks::{Next, Passed};
