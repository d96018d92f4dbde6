//! How a long pass tells its caller how far it is.

/// Called with the fraction done; answers whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(f64) -> bool;

/// Asked while input is waited for, and as it is taken: whether to go on.
pub type Waiting<'a> = &'a mut dyn FnMut() -> bool;

/// The same answer, as a pass takes it.
pub fn flow(go_on: bool) -> std::ops::ControlFlow<()> {
    if go_on {
        std::ops::ControlFlow::Continue(())
    } else {
        std::ops::ControlFlow::Break(())
    }
}
