//! How a long pass tells its caller how far it is.

/// Called with the fraction done; answers whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(f64) -> bool;
