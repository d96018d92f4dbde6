//! What stands in a capture, as far as it could say who was recorded: readers report where it is, and
//! masking goes by it. Whatever no reader reports is left out.

pub mod fields;

use std::ops::Range;

/// Kinds of what stands somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Numbers, and names that the kernel gave.
    Keep,
    /// Of unknown meaning.
    Zero,
    /// Known, and left out: how that is reported.
    Hidden(&'static str),
    /// An option of a trace.dat that is not known here.
    UnknownOption(u16),
    /// The same of a part of a perf.data's header.
    UnknownFeature(usize),
    /// The same of one of its records.
    UnknownRecord(u32),
    /// The build id of the path that follows.
    BuildId,
    /// A text of the kernel's or of hardware, up to its NUL.
    Text,
    /// The name of a task.
    Task,
    /// The path of a file or a cgroup.
    Path,
    /// The name of a host.
    Host,
    /// The same before other bytes, which stay where they are.
    Guest,
    /// What `uname -snrm` says.
    Uname,
    /// A text in which names may stand anywhere.
    Words,
    /// A word of the recorder's command line, by all of which it is told what one means.
    Arguments,
    /// Lines of a process's number and its name.
    TaskLines,
    /// The kernel's functions, with programs of BPF among them.
    Symbols,
    /// An address of IPv4 as the network has it.
    Ipv4,
    /// One of IPv6.
    Ipv6,
    /// A hardware address.
    Mac,
    /// The kernel's `struct sockaddr_in` or `sockaddr_in6`.
    Socket,
    /// An event's name, a NUL, and its text.
    Event,
    /// The same of one of perf's records.
    Record,
    /// A comment's line in a text.
    Comment,
    /// A line of a call chain.
    Frame,
    /// Any other line.
    Line,
}

/// Where something stands, and what it is.
pub type Span = (Range<u64>, Kind);

impl Kind {
    /// What it is called where it is replaced.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Keep | Kind::Text | Kind::BuildId | Kind::Symbols => "keep",
            Kind::Zero | Kind::Hidden(_) => "zero",
            Kind::UnknownOption(_) | Kind::UnknownFeature(_) | Kind::UnknownRecord(_) => "zero",
            Kind::Task | Kind::TaskLines => "task",
            Kind::Path => "path",
            Kind::Host | Kind::Guest | Kind::Uname => "host",
            Kind::Words => "words",
            Kind::Arguments => "arguments",
            Kind::Ipv4 => "ipv4",
            Kind::Ipv6 => "ipv6",
            Kind::Mac => "mac",
            Kind::Socket => "sockaddr",
            Kind::Event => "event",
            Kind::Record => "record",
            Kind::Comment => "comment",
            Kind::Frame => "frame",
            Kind::Line => "line",
        }
    }
}
