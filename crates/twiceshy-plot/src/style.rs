//! The colours and sizes of all plots, as one style sheet.
//!
//! Every rule is about a class, and all plots share them: a page has the sheet once, a file of its own brings it along.
//! Class `cN` fills with colour N, paler with class `second`; `sN` draws a line with it and the dashes that go with it.

use std::fmt::Write;

/// One colour per series, for light and for dark.
pub const COLOURS: [(&str, &str); 8] = [
    ("#2a6fc9", "#5b9bea"),
    ("#d9622b", "#f08a54"),
    ("#1a9a6c", "#3fc796"),
    ("#7d55c7", "#a98bea"),
    ("#c2406f", "#ea7aa2"),
    ("#9a7b00", "#d1b03a"),
    ("#0b8a9c", "#45bccb"),
    ("#6b6b66", "#a3a39d"),
];

/// The dashes of a line, in the order of the colours.
const DASHES: [&str; 8] = ["none", "7 3", "2 3", "9 3 2 3", "4 2", "12 4", "1 4", "5 5"];

/// What is the same in the light and in the dark.
const SIZES: &str = "\
.title{font-size:18px;font-weight:600}.label{font-size:13px}.small{font-size:12px}.number{font-size:10.5px}\
.strong{font-weight:600}.end{text-anchor:end}.middle{text-anchor:middle}\
.second{fill-opacity:.45}.grid,.one,.span{stroke-width:1}.one{stroke-width:1.5}.span{stroke-opacity:.7}\
.range{stroke-width:6;stroke-opacity:.3;stroke-dasharray:none!important}\
.line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:butt}.heavy{stroke-width:3.5}";

/// The style sheet.
pub fn css() -> String {
    format!(
        "{SIZES}{}{}@media (prefers-color-scheme:dark){{{}}}",
        dashes(),
        theme(["#ffffff", "#1d1d1b", "#5c5c58", "#e3e3df", "#f4f5f2"], |colours| colours.0),
        theme(["#16181c", "#ececea", "#a5a5a0", "#2e3238", "#1c1f24"], |colours| colours.1),
    )
}

fn dashes() -> String {
    let rule = |(number, dashes)| format!(".s{number}{{stroke-dasharray:{dashes}}}");
    DASHES.iter().enumerate().map(rule).collect()
}

fn theme(
    [paper, ink, pale, grid, band]: [&str; 5],
    pick: fn(&(&'static str, &'static str)) -> &'static str,
) -> String {
    let mut rules = format!(
        ".paper{{fill:{paper}}}.title,.label,.number{{fill:{ink}}}.small{{fill:{pale}}}.grid{{stroke:{grid}}}\
         .one{{stroke:{pale}}}.span{{stroke:{ink}}}.band{{fill:{band}}}.marker{{stroke:{paper}}}"
    );
    for (number, colour) in COLOURS.iter().map(pick).enumerate() {
        // A name that stands at the end of a line has the line's colour.
        let _ = write!(rules, ".c{number}{{fill:{colour}}}.s{number}{{stroke:{colour}}}");
    }
    rules
}
