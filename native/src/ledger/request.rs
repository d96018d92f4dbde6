//! What a pass of the ledger is asked for.

use crate::error::{bad, Result};

/// What a pass is to produce besides the sums.
#[derive(Debug, Clone, Copy, Default)]
pub struct Want {
    /// The segments table.
    pub segments: bool,
    /// The softirqs table.
    pub softirqs: bool,
    /// The hardirqs table.
    pub hardirqs: bool,
    /// The polls table.
    pub polls: bool,
    /// The slices table (migrations need it too).
    pub slices: bool,
    /// The migrations table.
    pub migrations: bool,
    /// The coverage table; a whole pass gives it anyway.
    pub coverage: bool,
    /// Displaced time.
    pub displaced: bool,
}

impl Want {
    /// Everything.
    pub const ALL: Want = Want {
        segments: true,
        softirqs: true,
        hardirqs: true,
        polls: true,
        slices: true,
        migrations: true,
        coverage: true,
        displaced: true,
    };

    /// Wants the tables of these names.
    pub fn of<'n>(tables: impl IntoIterator<Item = &'n str>) -> Result<Want> {
        let mut want = Want::default();
        for name in tables {
            let flag = match name {
                "segments" => &mut want.segments,
                "softirqs" => &mut want.softirqs,
                "hardirqs" => &mut want.hardirqs,
                "polls" => &mut want.polls,
                "slices" => &mut want.slices,
                "migrations" => &mut want.migrations,
                "displaced" => &mut want.displaced,
                "coverage" => &mut want.coverage,
                _ => {
                    let known = "segments, softirqs, hardirqs, polls, slices, migrations, displaced, coverage";
                    return Err(bad!(Refused, "no table '{name}'; there are {known}"));
                }
            };
            *flag = true;
        }
        Ok(want)
    }
}

/// What a pass is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Tables besides the sums.
    pub want: Want,
    /// Absolute times; `None` for the whole capture.
    pub window: Option<(i64, i64)>,
    /// CPUs to show, ascending; `None` for all.
    pub cpus: Option<Vec<u32>>,
    /// Facts from files beside the recording.
    pub host: HostFacts,
    /// Whether to keep the rows of all tables.
    pub keeps_rows: bool,
}

/// Facts about the host from files beside the recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Why this machine's CPUs may not agree on the time.
    pub clock_doubt: Option<String>,
    /// Network devices of interrupt lines, by line number, ascending.
    pub lines: Vec<(i64, String)>,
    /// CPUs in `nohz_full=`, which need not tick while a task runs.
    pub tickless: Vec<u32>,
    /// Names of network devices, each once.
    pub names: Vec<DeviceName>,
}

/// A name of network devices, in one namespace or in several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceName {
    /// The name as polls give it.
    pub name: String,
    /// How many devices have the name.
    pub devices: usize,
    /// Most NAPI instances that these devices have, where that is known.
    pub instances: Option<usize>,
}

impl DeviceName {
    /// Whether each instance is a device of its own.
    pub fn is_told_apart(&self) -> bool {
        self.devices > 1 && self.instances == Some(self.devices)
    }
}

impl Request {
    /// Whether a CPU is shown.
    pub fn shows(&self, cpu: u32) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.binary_search(&cpu).is_ok())
    }

    /// The part of a capture to show.
    pub fn window_in(&self, capture: (i64, i64)) -> (i64, i64) {
        self.window.map_or(capture, |window| (window.0.max(capture.0), window.1.min(capture.1)))
    }
}
