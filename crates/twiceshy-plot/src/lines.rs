//! A chart with one line per series. Names stand at the ends of the lines, moved apart where they would overlap.

use crate::canvas::Canvas;
use crate::scale::Scale;

/// From the line above a name to the next name.
const NAME_LINE: f64 = 17.0;
const TOP: f64 = 14.0;
/// How high the strip for values of 0 is.
const STRIP: f64 = 26.0;

/// A chart with lines.
#[derive(Debug, Clone)]
pub struct LineChart {
    /// The size of the drawing.
    pub size: (f64, f64),
    /// How much of the width is for the marks of the upright axis, and how much for the names on the right.
    pub margins: (f64, f64),
    /// Room above the chart, for a title that the caller draws.
    pub top: f64,
    /// What runs from left to right.
    pub across: Across,
    /// What runs upwards.
    pub up: Scale,
    /// How a mark of the upright axis is written.
    pub mark: fn(f64) -> String,
    /// What values of 0 are called: they lie in a strip of their own below an axis that has no place for them, a
    /// logarithmic one.
    pub none: Option<&'static str>,
    /// What the upright axis shows.
    pub unit: String,
    /// The lines.
    pub series: Vec<Series>,
    /// Whether every point has a marker; else only the last one.
    pub markers: bool,
    /// Whether points without a marker tell about themselves when the mouse is on them; of no use in an image.
    pub hints: bool,
}

/// What runs from left to right.
#[derive(Debug, Clone)]
pub enum Across {
    /// Named places at equal distances, for points with `x` 0, 1, 2 and so on.
    Places {
        /// Their names.
        names: Vec<String>,
        /// What they are.
        unit: String,
    },
    /// Numbers from 0 to the end of the last span.
    Spans(Vec<Span>),
}

/// A named part of the axis.
#[derive(Debug, Clone)]
pub struct Span {
    /// Lines of text that stand in it.
    pub names: Vec<String>,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
}

/// A line.
#[derive(Debug, Clone)]
pub struct Series {
    /// What it shows.
    pub name: String,
    /// The number of its colour, dashes and marker.
    pub colour: usize,
    /// Whether it is the one to look at.
    pub is_heavy: bool,
    /// Its points, from the left.
    pub points: Vec<Point>,
}

/// A point of a line.
#[derive(Debug, Clone)]
pub struct Point {
    /// Where it is from left to right.
    pub x: f64,
    /// Its value.
    pub y: f64,
    /// Between which values it was, if it is one of several.
    pub range: Option<(f64, f64)>,
    /// What is said about it when the mouse is on it.
    pub about: String,
}

impl LineChart {
    fn left(&self) -> f64 {
        self.margins.0
    }

    fn right(&self) -> f64 {
        self.size.0 - self.margins.1
    }

    fn plot_top(&self) -> f64 {
        // Spans are named above the lines.
        let names = match &self.across {
            Across::Spans(spans) => spans.iter().map(|span| span.names.len()).max().unwrap_or(0),
            Across::Places { .. } => 0,
        };
        self.top + TOP + 12.0 + names as f64 * 15.0
    }

    fn bottom(&self) -> f64 {
        self.size.1 - if matches!(self.across, Across::Places { .. }) { 46.0 } else { 10.0 }
    }

    /// What the strip below the axis is called, if there is something in it.
    fn strip(&self) -> Option<&'static str> {
        let mut values = self.series.iter().flat_map(|series| &series.points).map(|point| point.y);
        self.none.filter(|_| values.any(|value| value <= 0.0))
    }

    fn x(&self, value: f64) -> f64 {
        let share = match &self.across {
            Across::Places { names, .. } => (value + 0.5) / names.len().max(1) as f64,
            Across::Spans(spans) => value / spans.last().map_or(1.0, |span| span.to),
        };
        self.left() + share * (self.right() - self.left())
    }

    fn y(&self, value: f64) -> f64 {
        let start = self.bottom() - if self.strip().is_some() { STRIP } else { 0.0 };
        if value <= 0.0 && self.strip().is_some() {
            self.bottom()
        } else {
            start - self.up.place(value) * (start - self.plot_top())
        }
    }

    /// Draws it.
    pub fn draw(&self) -> Canvas {
        let mut canvas = Canvas::new();
        self.draw_axes(&mut canvas);
        // The one to look at lies on top.
        let mut order: Vec<_> = self.series.iter().collect();
        order.sort_by_key(|series| series.is_heavy);
        let names = self.places_of_names();
        for series in order {
            canvas.put(format_args!("<g class=\"series\" data-series=\"{}\">", series.colour));
            self.draw_line(&mut canvas, series);
            if let Some(&(_, y)) = names.iter().find(|(colour, _)| *colour == series.colour) {
                let class = format!("label strong c{}", series.colour);
                canvas.text(&class, self.right() + 12.0, y + 4.5, &series.name);
            }
            canvas.put(format_args!("</g>"));
        }
        canvas
    }

    fn draw_axes(&self, canvas: &mut Canvas) {
        let (left, right, top, bottom) = (self.left(), self.right(), self.plot_top(), self.bottom());
        if let Across::Spans(spans) = &self.across {
            for (number, span) in spans.iter().enumerate() {
                let (from, to) = (self.x(span.from), self.x(span.to));
                if number % 2 == 0 {
                    canvas.rect("band", (from, top), (to - from, bottom - top), None);
                }
                for (line, name) in span.names.iter().enumerate() {
                    let y = top - 8.0 - (span.names.len() - 1 - line) as f64 * 15.0;
                    canvas.text(
                        if line == 0 { "label middle" } else { "small middle" },
                        (from + to) / 2.0,
                        y,
                        name,
                    );
                }
            }
        }
        canvas.text("small", 0.0, self.top + TOP - 2.0, &self.unit);
        for mark in self.up.marks() {
            let y = self.y(mark);
            canvas.line("grid", (left, y), (right, y));
            canvas.text("small end", left - 8.0, y + 4.0, &(self.mark)(mark));
        }
        if let Some(name) = self.strip() {
            canvas.text("small end", left - 8.0, bottom + 4.0, name);
        }
        canvas.line("one", (left, bottom), (right, bottom));
        if let Across::Places { names, unit } = &self.across {
            for (number, name) in names.iter().enumerate() {
                canvas.text("label middle", self.x(number as f64), bottom + 20.0, name);
            }
            canvas.text("small middle", (left + right) / 2.0, bottom + 39.0, unit);
        }
    }

    fn draw_line(&self, canvas: &mut Canvas, series: &Series) {
        let place = |point: &Point| (self.x(point.x), self.y(point.y));
        let path: String = series.points.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1} ")).collect();
        let (colour, heavy) = (series.colour, if series.is_heavy { " heavy" } else { "" });
        canvas
            .put(format_args!("<polyline class=\"line s{colour}{heavy}\" points=\"{}\"/>", path.trim_end()));
        for point in &series.points {
            if let Some((low, high)) = point.range {
                let x = self.x(point.x);
                canvas.line(&format!("range s{colour}"), (x, self.y(low)), (x, self.y(high)));
            }
        }
        let from = if self.markers { 0 } else { series.points.len().saturating_sub(1) };
        for (number, point) in series.points.iter().enumerate() {
            let about = format!("{}, {}", series.name, point.about);
            if number >= from {
                canvas.marker(colour, place(point), 4.5, Some(&about));
            } else if self.hints {
                let (x, y) = place(point);
                canvas.put(format_args!(
                    "<circle class=\"touch\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\" fill-opacity=\"0\"><title>{}</title></circle>",
                    crate::escape(&about)
                ));
            }
        }
    }

    /// Where the names stand: at the ends of the lines, but not on each other.
    fn places_of_names(&self) -> Vec<(usize, f64)> {
        let end = |series: &Series| series.points.last().map(|point| (series.colour, self.y(point.y)));
        let mut places: Vec<_> = self.series.iter().filter_map(end).collect();
        places.sort_by(|one, other| one.1.total_cmp(&other.1));
        apart(&mut places, NAME_LINE, self.bottom() + 4.0);
        places
    }
}

/// Moves places that are in order at least `gap` apart, downwards first, then up from the `end`.
fn apart(places: &mut [(usize, f64)], gap: f64, end: f64) {
    // Neighbours share the way.
    for _ in 0..50 {
        for index in 1..places.len() {
            let missing = gap - (places[index].1 - places[index - 1].1);
            if missing > 0.0 {
                places[index - 1].1 -= missing / 2.0;
                places[index].1 += missing / 2.0;
            }
        }
    }
    let mut most = end;
    for place in places.iter_mut().rev() {
        place.1 = place.1.min(most);
        most = place.1 - gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_lie_on_each_other() {
        let mut places = vec![(0, 10.0), (1, 100.0), (2, 101.0), (3, 101.5), (4, 199.0)];
        apart(&mut places, 17.0, 200.0);
        for pair in places.windows(2) {
            assert!(pair[1].1 - pair[0].1 > 16.5, "{places:?}");
        }
        assert!(places[4].1 <= 200.0 && places[0].1 == 10.0, "{places:?}");
    }

    #[test]
    fn a_chart_has_a_line_and_a_name_for_every_series() {
        let series = |colour: usize, values: &[f64]| Series {
            name: format!("series <{colour}>"),
            colour,
            is_heavy: colour == 0,
            points: (0..)
                .zip(values)
                .map(|(x, &y)| Point {
                    x: f64::from(x),
                    y,
                    range: Some((y / 2.0, y * 2.0)),
                    about: "here".into(),
                })
                .collect(),
        };
        let mut chart = LineChart {
            size: (400.0, 300.0),
            margins: (50.0, 90.0),
            top: 0.0,
            across: Across::Places { names: vec!["a".into(), "b".into()], unit: "place".into() },
            up: Scale::log([1.0, 100.0], 0.1),
            mark: |value| value.to_string(),
            none: Some("nothing"),
            unit: "things".into(),
            series: vec![series(0, &[1.0, 100.0]), series(1, &[0.0, f64::NAN]), series(2, &[])],
            markers: true,
            hints: true,
        };
        let svg = chart.draw().inline("plot", chart.size, "test");
        assert_eq!(svg.matches("<polyline").count(), 3);
        assert_eq!(svg.matches("class=\"range s").count(), 4);
        // The strip is below the axis, with the value of 0 in it, and is there for such values only.
        assert_eq!(svg.matches(">nothing</text>").count(), 1);
        assert!(chart.y(0.0) > chart.y(0.1) + 20.0, "{} {}", chart.y(0.0), chart.y(0.1));
        assert_eq!(svg.matches("series &lt;").count(), 4 + 2, "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        chart.series.remove(1);
        assert!(!chart.draw().inline("plot", chart.size, "test").contains("nothing"));
        chart.across = Across::Spans(Vec::new());
        assert!(!chart.draw().inline("plot", chart.size, "test").contains("NaN"));
    }
}
