//! One bar per name, from zero, with its value at the end.

use crate::canvas::Canvas;
use crate::scale::Scale;

const LINE: f64 = 40.0;
const TOP: f64 = 8.0;
/// For the numbers behind the bars.
const RIGHT: f64 = 110.0;

/// Horizontal bars.
#[derive(Debug, Clone)]
pub struct Bars {
    /// How wide the drawing is, and how much of it is for the names.
    pub width: f64,
    /// How much of the width is for the names.
    pub names: f64,
    /// The bars, from the top.
    pub bars: Vec<Bar>,
}

/// One of them.
#[derive(Debug, Clone)]
pub struct Bar {
    /// What stands in front of it.
    pub name: String,
    /// How long it is.
    pub value: f64,
    /// What stands behind it.
    pub label: String,
    /// The number of its colour.
    pub colour: usize,
}

impl Bars {
    /// Draws them. Tells the size of the drawing, too.
    pub fn draw(&self) -> (Canvas, (f64, f64)) {
        let mut canvas = Canvas::new();
        let scale = Scale::linear(self.bars.iter().map(|bar| bar.value));
        let length = self.width - self.names - RIGHT;
        let bottom = TOP + self.bars.len() as f64 * LINE;
        canvas.line("one", (self.names, TOP), (self.names, bottom));
        for (number, bar) in self.bars.iter().enumerate() {
            let y = TOP + number as f64 * LINE;
            let middle = y + LINE / 2.0 + 4.5;
            let end = self.names + scale.place(bar.value) * length;
            canvas.put(format_args!("<g class=\"series\" data-series=\"{}\">", bar.colour));
            canvas.text("label end", self.names - 10.0, middle, &bar.name);
            if bar.value > 0.0 {
                let about = format!("{}: {}", bar.name, bar.label);
                let class = format!("c{}", bar.colour);
                canvas.rect(
                    &class,
                    (self.names, y + 8.0),
                    ((end - self.names).max(1.0), LINE - 16.0),
                    Some(&about),
                );
            }
            canvas.text("label strong", end + 8.0, middle, &bar.label);
            canvas.put(format_args!("</g>"));
        }
        (canvas, (self.width, bottom + TOP))
    }
}
