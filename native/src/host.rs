//! What captures say about their origin: the machine, its buffers, the tracing session.

/// The recorded machine, and what recorded it. Recorders differ in what they note.
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
    /// Number of CPUs of the host.
    pub nr_cpus: Option<u32>,
    /// The recorder's command line.
    pub cmdline: Option<Vec<String>>,
    /// Size of a `long`, in bytes.
    pub long_bytes: Option<u8>,
    /// `/proc/kallsyms`.
    pub kallsyms: Option<String>,
    /// `uname -a`, as far as the recorder kept it.
    pub uname: Option<String>,
}

impl Host {
    /// From the output of `uname -snrm`, which trace-cmd records too.
    pub fn of_uname(uname: Option<String>) -> Host {
        let uname = uname.map(|uname| uname.trim().to_owned()).filter(|uname| !uname.is_empty());
        let word = |place: usize| uname.as_deref()?.split_whitespace().nth(place).map(str::to_owned);
        Host { hostname: word(1), os_release: word(2), arch: word(3), uname: uname.clone(), ..Default::default() }
    }
}

/// What links a capture to others and to wall-clock time.
#[derive(Debug, Default, Clone)]
pub struct Session {
    /// Offset from the capture's clock to wall-clock time.
    pub date_offset_ns: Option<i64>,
    /// Id of the session.
    pub trace_id: Option<u64>,
    /// Guests traced in it.
    pub guests: Vec<Guest>,
}

/// A virtual machine that was traced in the same session.
#[derive(Debug, Default, Clone)]
pub struct Guest {
    /// Its name.
    pub name: String,
    /// Id of its own session.
    pub trace_id: u64,
    /// Its CPUs, each with the host thread that runs it.
    pub cpus: Vec<(u32, i32)>,
}

/// One ftrace instance's share of a capture.
#[derive(Debug, Clone)]
pub struct Buffer {
    /// Empty for the top instance.
    pub name: String,
    /// CPUs with data.
    pub cpus: usize,
    /// Its size in the file, in bytes.
    pub bytes: u64,
    /// ftrace's name for its clock.
    pub clock: String,
}
