//! One pass for several visitors.

use std::ops::ControlFlow;

use crate::progress::{flow, Progress};
use crate::visit::{Sample, Side, Visitor};

/// Shows a pass to one visitor and to others beside it. The first decides the order of samples, and when the pass ends.
pub struct Together<'v, 'b>(pub &'v mut dyn Visitor, pub &'v mut [&'b mut dyn Visitor]);

impl Visitor for Together<'_, '_> {
    fn by_time(&self) -> bool {
        self.0.by_time()
    }

    fn samples(&mut self, block: &[u8], samples: &[Sample]) -> ControlFlow<()> {
        for beside in self.1.iter_mut() {
            let _ = beside.samples(block, samples);
        }
        self.0.samples(block, samples)
    }

    fn side(&mut self, side: &Side<'_>) {
        self.1.iter_mut().for_each(|beside| beside.side(side));
        self.0.side(side);
    }

    fn block_end(&mut self, block: &[u8]) {
        self.1.iter_mut().for_each(|beside| beside.block_end(block));
        self.0.block_end(block);
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        self.0.progress(fraction)
    }
}

/// Reports progress and ignores everything else.
pub struct Reporter<'p>(pub Progress<'p>);

impl Visitor for Reporter<'_> {
    fn samples(&mut self, _block: &[u8], _samples: &[Sample]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn progress(&mut self, fraction: f64) -> ControlFlow<()> {
        flow((self.0)(fraction))
    }
}
