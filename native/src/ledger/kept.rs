//! Rows that stay in memory after a pass, so that the next request needs none.

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

/// The rows of a pass that is over, as they were found.
#[derive(Debug)]
pub struct Kept {
    /// What a second pass would go by.
    pub survey: Arc<Survey>,
    /// The CPUs that are shown.
    pub cpus: Vec<Found>,
    /// Migrations.
    pub migrated: Vec<Migrated>,
}

impl Kept {
    /// Whether they are those that a request is about.
    pub fn is_for(&self, request: &Request) -> bool {
        self.survey.is_for(request)
    }

    /// What aggregates come to, which are begun.
    pub fn aggregates(&self, request: &Request, mut wanted: Vec<Box<dyn Aggregate>>) -> Result<Vec<Tables>> {
        let Survey { whole, kinds, reasons, .. } = &*self.survey;
        let shown = Shown { want: request.want, window: self.survey.window(request), kinds, reasons };
        wanted.par_iter_mut().for_each(|one| one.take(&whole.names, &self.cpus, &self.migrated, &shown));
        wanted.into_iter().map(|one| one.finish(&whole.names)).collect()
    }

    /// The tables that a request wants.
    pub fn tables(&self, request: &Request) -> Result<Tables> {
        let (kinds, window) = (shown::kinds(&self.cpus), self.survey.window(request));
        let shown = Shown { want: request.want, window, kinds: &kinds, reasons: &self.survey.reasons };
        shown::tables(self.names(), &self.cpus, &self.migrated, &shown)
    }

    /// What names them.
    pub fn names(&self) -> &Names {
        &self.survey.whole.names
    }
}
