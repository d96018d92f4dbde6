//! Rows that stay in memory after a pass, so that the next request needs no pass.

use std::sync::Arc;

use rayon::prelude::*;

use crate::error::Result;
use crate::ledger::aggregate::Aggregate;
use crate::ledger::cpu::Found;
use crate::ledger::migrated::Migrated;
use crate::ledger::request::Request;
use crate::ledger::resolve::Names;
use crate::ledger::shown::{self, Shown, Tables};
use crate::ledger::survey::Survey;

/// The rows of a finished pass.
#[derive(Debug)]
pub struct Kept {
    /// What a second pass would need.
    pub survey: Arc<Survey>,
    /// The CPUs to show.
    pub cpus: Vec<Found>,
    /// Migrations.
    pub migrated: Vec<Migrated>,
}

impl Kept {
    /// Whether these are the rows that a request is about.
    pub fn is_for(&self, request: &Request) -> bool {
        self.survey.is_for(request)
    }

    /// The tables of aggregates that have been started.
    pub fn aggregates(&self, request: &Request, mut wanted: Vec<Box<dyn Aggregate>>) -> Result<Vec<Tables>> {
        let Survey { whole, kinds, reasons, .. } = &*self.survey;
        let shown = Shown { want: request.want, window: self.survey.window(request), kinds, reasons };
        wanted.par_iter_mut().for_each(|one| one.take(&whole.names, &self.cpus, &self.migrated, &shown));
        wanted.into_iter().map(|one| one.finish(&whole.names)).collect()
    }

    /// The tables that a request asks for.
    pub fn tables(&self, request: &Request) -> Result<Tables> {
        let (kinds, window) = (shown::kinds(&self.cpus), self.survey.window(request));
        let shown = Shown { want: request.want, window, kinds: &kinds, reasons: &self.survey.reasons };
        shown::tables(self.names(), &self.cpus, &self.migrated, &shown)
    }

    /// The names that the rows refer to.
    pub fn names(&self) -> &Names {
        &self.survey.whole.names
    }
}
