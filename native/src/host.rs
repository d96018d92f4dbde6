//! What captures say of where they come from: the machine, its buffers, the tracing session.

/// The machine that was recorded, and what recorded it. Recorders differ in what they note.
#[derive(Debug, Default, Clone)]
pub struct Host {
    /// Name of the recorded host.
    pub hostname: Option<String>,
    /// `uname -r`.
    pub os_release: Option<String>,
    /// Version of the recorder.
    pub tool_version: Option<String>,
    /// `uname -m`.
    pub arch: Option<String>,
    /// CPUs that the host has.
    pub nr_cpus: Option<u32>,
    /// The recorder's command line.
    pub cmdline: Option<Vec<String>>,
    /// Bytes of a `long`.
    pub long_bytes: Option<u8>,
    /// `/proc/kallsyms`.
    pub kallsyms: Option<String>,
    /// `uname -a`, as far as the recorder took it.
    pub uname: Option<String>,
}

impl Host {
    /// What `uname -snrm` says, as trace-cmd notes it too.
    pub fn of_uname(uname: Option<String>) -> Host {
        let uname = uname.map(|uname| uname.trim().to_owned()).filter(|uname| !uname.is_empty());
        let word = |place: usize| uname.as_deref()?.split_whitespace().nth(place).map(str::to_owned);
        Host { hostname: word(1), os_release: word(2), arch: word(3), uname: uname.clone(), ..Default::default() }
    }
}

/// What joins a capture to others and to the time of day.
#[derive(Debug, Default, Clone)]
pub struct Session {
    /// From the capture's clock to the time of day.
    pub date_offset_ns: Option<i64>,
    /// Number of the session.
    pub trace_id: Option<u64>,
    /// Guests that were traced in it.
    pub guests: Vec<Guest>,
}

/// A virtual machine that was traced in the same session.
#[derive(Debug, Default, Clone)]
pub struct Guest {
    /// What it is called.
    pub name: String,
    /// Number of its own session.
    pub trace_id: u64,
    /// Its CPUs and the host's threads that are them.
    pub cpus: Vec<(u32, i32)>,
}

/// One ftrace instance's share of a capture.
#[derive(Debug, Clone)]
pub struct Buffer {
    /// Empty for the top one.
    pub name: String,
    /// CPUs with data.
    pub cpus: usize,
    /// Bytes of it in the file.
    pub bytes: u64,
    /// ftrace's name of its clock.
    pub clock: String,
}
