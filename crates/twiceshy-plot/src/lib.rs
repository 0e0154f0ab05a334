//! Small plots as SVG: no dependencies, no script, no fonts of their own; they follow the reader's choice of light or
//! dark, and are drawn the same on every machine.
//!
//! | file | what it does |
//! |---|---|
//! | `canvas.rs` | elements and escaped text, as a file of its own or as a part of a page |
//! | `style.rs` | the colours and sizes, for light and dark, as a style sheet |
//! | `scale.rs` | from values to places: linear or logarithmic, with marks at round numbers |
//! | `lines.rs` | a chart with one line per series, over numbers or over named places |
//! | `bars.rs` | one bar per name |
//!
//! Series are told apart by colour, dashes and markers, and have their name at their end: a plot can be read without
//! colours.

mod bars;
mod canvas;
mod lines;
mod scale;
mod style;

pub use bars::{Bar, Bars};
pub use canvas::{Canvas, escape};
pub use lines::{Across, LineChart, Point, Series, Span};
pub use scale::Scale;
pub use style::{COLOURS, css};
