//! The parts of a perf.data's header.

use crate::kinds::Kind;

macro_rules! features {
    ($($name:ident = $id:literal $kind:expr, $about:literal;)*) => {
        $(pub const $name: usize = $id;)*

        const TYPES: &[(usize, Kind, &str)] = &[$(($name, $kind, $about)),*];
    };
}

use Kind::{Arguments, Hidden, Host, Keep, Path, TaskLines, Text};

const BPF: Kind = Hidden("BPF programs in the header zeroed");

// `enum` of `HEADER_*` (tools/perf/util/header.h): what each holds, and what those are about that are read.
features! {
    RESERVED = 0 BPF, "";
    TRACING_DATA = 1 TaskLines, "event formats";
    BUILD_ID = 2 Path, "build ids";
    HOSTNAME = 3 Host, "host name";
    OSRELEASE = 4 Text, "kernel";
    VERSION = 5 Text, "perf version";
    ARCH = 6 Text, "architecture";
    NRCPUS = 7 Keep, "number of CPUs";
    CPUDESC = 8 Text, "";
    CPUID = 9 Text, "";
    TOTAL_MEM = 10 Keep, "";
    CMDLINE = 11 Arguments, "command line";
    EVENT_DESC = 12 Keep, "event names";
    CPU_TOPOLOGY = 13 Keep, ""; NUMA_TOPOLOGY = 14 Keep, ""; BRANCH_STACK = 15 Keep, "";
    PMU_MAPPINGS = 16 Keep, ""; GROUP_DESC = 17 Keep, ""; AUXTRACE = 18 Keep, ""; STAT = 19 Keep, "";
    CACHE = 20 Keep, ""; SAMPLE_TIME = 21 Keep, ""; MEM_TOPOLOGY = 22 Keep, ""; CLOCKID = 23 Keep, "";
    DIR_FORMAT = 24 Keep, "";
    BPF_PROG_INFO = 25 BPF, "";
    BPF_BTF = 26 BPF, "";
    COMPRESSED = 27 Keep, "compression";
    CPU_PMU_CAPS = 28 Keep, ""; CLOCK_DATA = 29 Keep, ""; HYBRID_TOPOLOGY = 30 Keep, "";
    PMU_CAPS = 31 Keep, "";
}

/// What a part holds.
pub fn kind(feature: usize) -> Kind {
    TYPES.iter().find(|found| found.0 == feature).map_or(Kind::UnknownFeature(feature), |found| found.1)
}

/// What a part that is read is about; `None` of the others.
pub fn about(feature: usize) -> Option<&'static str> {
    let found = TYPES.iter().find(|found| found.0 == feature)?;
    Some(found.2).filter(|about| !about.is_empty())
}
