//! Flame graphs.

use std::str::FromStr;

use inferno::flamegraph::color::BackgroundColor;
use inferno::flamegraph::{from_lines, Options, TextTruncateDirection};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A flame graph of folded stacks, as SVG that shows itself without a network.
#[pyfunction]
pub fn flame_svg(py: Python<'_>, lines: Vec<String>, title: String, subtitle: String) -> PyResult<String> {
    let drawn = py.detach(|| {
        let mut options = Options::default();
        options.title = title;
        options.subtitle = Some(subtitle);
        options.name_type = String::new();
        options.bgcolors = BackgroundColor::from_str("#ffffff").ok();
        options.hash = true;
        options.text_truncate_direction = TextTruncateDirection::Right;
        // Who draws has bounded the frames.
        options.min_width = 0.0;
        // Sorted by their bytes siblings are torn apart, "f" by "f.cold". This keeps the order, backwards.
        options.flame_chart = true;
        let mut svg = Vec::new();
        from_lines(&mut options, lines.iter().rev().map(String::as_str), &mut svg).map(|()| svg)
    });
    let svg = drawn.map_err(|error| PyValueError::new_err(error.to_string()))?;
    String::from_utf8(svg).map_err(|error| PyValueError::new_err(error.to_string()))
}
