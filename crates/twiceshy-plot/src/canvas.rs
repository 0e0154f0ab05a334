//! Elements and text of an SVG.

use std::fmt::{Arguments, Write};

use crate::style::css;

const FONT: &str = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

/// Text as it must stand between tags and in attributes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Other control characters have no place in XML, escaped or not.
            letter if letter.is_control() && !matches!(letter, '\t' | '\n' | '\r') => {
                escaped.push('\u{fffd}')
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// A drawing that grows. Places are in pixels from the top left corner.
#[derive(Debug, Clone, Default)]
pub struct Canvas {
    body: String,
}

impl Canvas {
    /// Nothing drawn yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Any element; what comes from outside must be [escaped](escape).
    pub fn put(&mut self, element: Arguments<'_>) {
        // A string takes everything.
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }

    /// A text.
    pub fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = escape(text);
        self.put(format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"));
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    /// A rectangle, with a text that shows when the mouse is on it.
    pub fn rect(
        &mut self,
        class: &str,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        about: Option<&str>,
    ) {
        let round = if class.contains("band") || class.contains("paper") { "" } else { " rx=\"2\"" };
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"{round}>{}</rect>",
            title(about)
        ));
    }

    /// The sign of a series at a point: a circle, square, triangle or diamond, in the order of the colours.
    pub fn marker(&mut self, series: usize, (x, y): (f64, f64), radius: f64, about: Option<&str>) {
        let (r, about) = (radius, title(about));
        let class = format!("marker c{series}");
        match series % 4 {
            0 => self.put(format_args!(
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\">{about}</circle>"
            )),
            shape => {
                let corners: &[(f64, f64)] = match shape {
                    1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
                    2 => &[(0.0, -1.2), (1.15, 0.85), (-1.15, 0.85)],
                    _ => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
                };
                let place = |(dx, dy): &(f64, f64)| format!("{:.1},{:.1} ", x + dx * r, y + dy * r);
                let corners: String = corners.iter().map(place).collect();
                self.put(format_args!(
                    "<polygon class=\"{class}\" points=\"{}\">{about}</polygon>",
                    corners.trim_end()
                ));
            }
        }
    }

    /// Another drawing, moved.
    pub fn group(&mut self, (x, y): (f64, f64), other: &Self) {
        self.put(format_args!("<g transform=\"translate({x} {y})\">\n{}</g>", other.body));
    }

    /// The drawing as a part of a page that has the [style sheet](css).
    pub fn inline(&self, class: &str, (width, height): (f64, f64), title: &str) -> String {
        let title = escape(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
             aria-label=\"{title}\">\n{}</svg>\n",
            self.body
        )
    }

    /// The drawing as a file of its own.
    pub fn file(&self, (width, height): (f64, f64), title: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
             font-family=\"{FONT}\">\n<title>{}</title>\n<style>{}</style>\n\
             <rect class=\"paper\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n{}</svg>\n",
            escape(title),
            css(),
            self.body
        )
    }
}

fn title(about: Option<&str>) -> String {
    about.map_or_else(String::new, |about| format!("<title>{}</title>", escape(about)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_element() {
        assert_eq!(escape("a<b> & \"c\" 'd'\u{1}"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;\u{fffd}");
        let mut canvas = Canvas::new();
        canvas.text("label", 1.0, 2.0, "</text><script>");
        canvas.marker(0, (1.0, 1.0), 3.0, Some("<b>"));
        let svg = canvas.file((10.0, 10.0), "</title><script>");
        assert!(!svg.contains("<script>") && !svg.contains("<b>"), "{svg}");
    }
}
