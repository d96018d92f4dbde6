//! Tables in batches, as Python's iterator: a pass on a thread of its own, which waits while nobody asks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arrow_array::RecordBatch;
use netcost::event_batches::{self, Surveyed as Named};
use netcost::events::Within;
use netcost::ledger::{self, Request, Survey, Want, Whole};
use netcost::{Progress, Recording, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::alloc;
use crate::{raised, table};

/// How long a signal may wait to be heard, and a progress bar to move.
const PATIENCE: Duration = Duration::from_millis(50);

/// So many windows of a capture are asked in turns: all of it, a part of it, and one around an interrupt.
const SURVEYS: usize = 3;

/// What the last first passes found, the latest last, kept for second ones.
#[derive(Clone, Default)]
pub struct Surveyed(Arc<Mutex<VecDeque<Arc<Survey>>>>);

impl Surveyed {
    /// One that is for a request.
    pub fn known(&self, request: &Request) -> Option<Arc<Survey>> {
        let surveys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        surveys.iter().find(|survey| survey.is_for(request)).cloned()
    }

    /// Whether there was any pass.
    pub fn any(&self) -> bool {
        !self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// What one has found out of the whole recording, where that allows a pass to end with the request's window.
    pub fn whole(&self, request: &Request) -> Option<Arc<Whole>> {
        let surveys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        surveys.iter().map(|survey| &survey.whole).find(|whole| whole.is_enough_for(request)).cloned()
    }

    /// One that is for a request, by a first pass where none was made, and which part of the way that was.
    pub fn survey(
        &self,
        recording: &Recording,
        request: &Request,
        progress: Progress<'_>,
    ) -> Result<(Arc<Survey>, f64)> {
        if let Some(survey) = self.known(request) {
            return Ok((survey, 0.0));
        }
        let whole = self.whole(request);
        // Slices say how long was waited for them: whether clocks allow that shows who follows waits, or it is known.
        let displaced = request.want.slices && whole.is_none();
        let first = Request { want: Want { displaced, ..Want::default() }, ..request.clone() };
        let mut half = |fraction: f64| progress(fraction / 2.0);
        let survey = ledger::run_beside(recording, &first, whole.as_ref(), &mut [], &mut half)?.0.survey;
        self.keep(&survey);
        Ok((survey, 0.5))
    }

    /// Keeps one more, instead of what it is as good as.
    pub fn keep(&self, survey: &Arc<Survey>) {
        let mut surveys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if surveys.iter().any(|other| other.serves(survey)) {
            return;
        }
        surveys.retain(|other| !survey.serves(other));
        if surveys.len() == SURVEYS {
            surveys.pop_front();
        }
        surveys.push_back(Arc::clone(survey));
    }
}

/// A batch.
type Tables = Vec<(String, RecordBatch)>;

/// What a pass gives its batches to, and tells how far it is; each answers whether to go on.
pub struct Reader<'r> {
    give: &'r mut dyn FnMut(Tables) -> bool,
    note: &'r dyn Fn(f64) -> bool,
}

/// A pass.
pub trait Source: Send + 'static {
    /// Makes it.
    fn run(&self, reader: Reader<'_>) -> Result<()>;
}

/// Events of tracepoints.
pub struct Events {
    pub recording: Arc<Recording>,
    pub surveyed: Arc<OnceLock<Named>>,
    pub names: Vec<String>,
    pub within: Within,
    pub rows: usize,
}

impl Source for Events {
    fn run(&self, Reader { give, note }: Reader<'_>) -> Result<()> {
        let mut from = 0.0;
        let surveyed = match self.surveyed.get() {
            Some(surveyed) => surveyed,
            None => {
                from = 0.5;
                let surveyed = event_batches::survey(&self.recording, &mut |fraction| note(fraction / 2.0))?;
                self.surveyed.get_or_init(|| surveyed)
            }
        };
        let mut progress = |fraction: f64| note(from + fraction * (1.0 - from));
        let Events { recording, names, within, rows, .. } = self;
        event_batches::event_batches(recording, surveyed, names, within, *rows, give, &mut progress)
    }
}

/// The ledger's tables.
pub struct Ledger {
    pub recording: Arc<Recording>,
    pub surveyed: Surveyed,
    pub request: Request,
    pub rows: usize,
}

impl Source for Ledger {
    /// The two passes, or the second where the first has been made.
    fn run(&self, Reader { give, note }: Reader<'_>) -> Result<()> {
        let (survey, from) = self.surveyed.survey(&self.recording, &self.request, &mut |fraction| note(fraction))?;
        let named = |tables: ledger::Tables| tables.into_iter().map(|(name, rows)| (name.to_owned(), rows)).collect();
        let mut sink = |tables| give(named(tables));
        let mut progress = |fraction: f64| note(from + fraction * (1.0 - from));
        ledger::run_in_batches(&self.recording, &self.request, &survey, self.rows, &mut sink, &mut progress)
    }
}

/// The iterator.
#[pyclass]
pub struct Batches {
    names: Vec<String>,
    callback: Option<Py<PyAny>>,
    reported: f64,
    /// The fraction that is done, as bits.
    done: Arc<AtomicU64>,
    /// Nobody is there any more when it is gone.
    presence: Option<Arc<()>>,
    receiver: Option<Mutex<Receiver<Result<Tables>>>>,
    thread: Option<JoinHandle<()>>,
}

impl Batches {
    /// Of these tables; the pass begins at once, and waits when it is two batches ahead.
    pub fn new(source: impl Source, names: Vec<String>, callback: Option<Py<PyAny>>) -> PyResult<Batches> {
        let (sender, receiver) = sync_channel(1);
        let done = Arc::new(AtomicU64::new(0));
        let presence = Arc::new(());
        let (shared, is_there) = (Arc::clone(&done), Arc::downgrade(&presence));
        let work = move || {
            let note = |fraction: f64| {
                shared.store(fraction.to_bits(), Ordering::Relaxed);
                is_there.strong_count() > 0
            };
            let mut give = |tables| sender.send(Ok(tables)).is_ok();
            if let Err(error) = source.run(Reader { give: &mut give, note: &note }) {
                let _ = sender.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new().name("netcost-batches".to_owned()).spawn(work)?;
        let receiver = Some(Mutex::new(receiver));
        let presence = Some(presence);
        Ok(Batches { names, callback, reported: 0.0, done, presence, receiver, thread: Some(thread) })
    }

    /// Waits for the next batch, and hears signals meanwhile.
    fn receive(&mut self, py: Python<'_>) -> PyResult<Option<Tables>> {
        loop {
            let Some(receiver) = &self.receiver else { return Ok(None) };
            let received = py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE));
            py.check_signals()?;
            self.report(py)?;
            match received {
                Ok(Ok(tables)) => return Ok(Some(tables)),
                Ok(Err(error)) => return Err(raised(error)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    fn report(&mut self, py: Python<'_>) -> PyResult<()> {
        let fraction = f64::from_bits(self.done.load(Ordering::Relaxed));
        match &self.callback {
            Some(callback) if fraction >= self.reported + 0.01 => {
                self.reported = fraction;
                callback.call1(py, (fraction,)).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Ends the pass, and waits until its thread has gone.
    fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        (self.receiver, self.presence) = (None, None);
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let ended = py.detach(|| thread.join());
        alloc::give_back();
        ended.map_err(|_| pyo3::exceptions::PyRuntimeError::new_err("the pass panicked: please report it"))
    }
}

#[pymethods]
impl Batches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// The next batch: the tables that were asked for, by name.
    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let received = self.receive(py);
        let Ok(Some(tables)) = received else {
            let ended = self.end(py);
            received?;
            ended?;
            return Ok(None);
        };
        let shown = PyDict::new(py);
        for (name, rows) in tables {
            if self.names.contains(&name) {
                shown.set_item(name, table(py, rows)?)?;
            }
        }
        Ok(Some(shown))
    }

    /// Ends the pass before its end; nothing more comes.
    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        self.end(py)
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        if self.thread.is_some() {
            // Who reads no more has no use for why it ended.
            let _ = Python::try_attach(|py| self.end(py));
        }
    }
}
