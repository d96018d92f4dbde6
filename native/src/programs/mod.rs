//! What of a user's programs ran: which file is at an address of a process, and its functions where the file is at hand.

mod demangle;
pub mod elf;
pub mod files;
pub mod naming;
pub mod spaces;
