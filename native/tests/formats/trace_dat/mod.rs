//! trace.dat and copies of tracefs: pages of a ring, buffers, clocks, damage.

mod buffers;
mod clocks;
mod damage;
mod folder;
mod machine;
mod pages;
mod rings;
pub mod written;
