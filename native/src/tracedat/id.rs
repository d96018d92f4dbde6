//! Numbers of a trace.dat's options and sections: version 7 has one list for both.

use crate::kinds::Kind;

macro_rules! options {
    ($($name:ident = $id:literal $kind:expr, $section:literal;)*) => {
        $(pub const $name: u16 = $id;)*

        const TYPES: &[(u16, Option<Kind>, &str)] = &[$(($name, $kind, $section)),*];
    };
}

use Kind::{Guest, Hidden, Keep, Uname, Words};

// `trace-cmd.dat.v7(5)`: what an option holds itself, and what trace-cmd calls the section that it names.
options! {
    OPTIONS = 0 Some(Keep), "options";
    DATE = 1 Some(Keep), ""; CPUSTAT = 2 Some(Keep), ""; BUFFER = 3 Some(Keep), "";
    TRACECLOCK = 4 Some(Keep), "";
    UNAME = 5 Some(Uname), "";
    HOOK = 6 Some(Keep), ""; OFFSET = 7 Some(Keep), ""; CPUCOUNT = 8 Some(Keep), "";
    VERSION = 9 Some(Words), "";
    PROCMAPS = 10 Some(Hidden("maps of processes left out")), "";
    TRACEID = 11 Some(Keep), ""; TIME_SHIFT = 12 Some(Keep), "";
    GUEST = 13 Some(Guest), "";
    TSC2NSEC = 14 Some(Keep), "";
    STRINGS = 15 None, "strings";
    HEADER_INFO = 16 None, "headers";
    FTRACE_EVENTS = 17 None, "ftrace events";
    EVENT_FORMATS = 18 None, "events format";
    KALLSYMS = 19 None, "kallsyms";
    PRINTK = 20 None, "printk";
    CMDLINES = 21 None, "command lines";
    BUFFER_TEXT = 22 None, "";
}

/// What an option holds.
pub fn kind(option: u16) -> Kind {
    let found = TYPES.iter().find(|found| found.0 == option);
    found.and_then(|found| found.1).unwrap_or(Kind::UnknownOption(option))
}

/// What trace-cmd calls a section.
pub fn section_name(section: u16) -> &'static str {
    TYPES.iter().find(|found| found.0 == section).map_or("", |found| found.2)
}
