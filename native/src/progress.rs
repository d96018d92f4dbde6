//! How a long pass reports its progress.

/// Called with the fraction done; returns whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(f64) -> bool;

/// Called while waiting for input and while reading it; returns whether to go on.
pub type Waiting<'a> = &'a mut dyn FnMut() -> bool;

/// The answer as a control flow.
pub fn flow(go_on: bool) -> std::ops::ControlFlow<()> {
    if go_on {
        std::ops::ControlFlow::Continue(())
    } else {
        std::ops::ControlFlow::Break(())
    }
}
