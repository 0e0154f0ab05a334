//! The program as a whole: a quick run, and what it says to a wrong name.

use std::process::{Command, Output};

use serde_json::Value;

fn versus(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_twiceshy-versus");
    Command::new(program).args(arguments).output().expect("the program starts")
}

const FILTER: &str = "twiceshy-quotient-fast";

/// Operations that are speeds, for raw hashes.
const SPEEDS: [&str; 11] = [
    "insert",
    "insert_last_tenth",
    "contains_absent",
    "contains_present",
    "contains_batch_absent",
    "contains_batch_present",
    "remove",
    "bulk_load",
    "build_unsorted",
    "merge",
    "contains_absent_two_threads",
];

#[test]
fn a_quick_run_yields_json_with_every_operation() {
    let plot = std::env::temp_dir().join(format!("twiceshy-versus-{}.svg", std::process::id()));
    let path = plot.to_str().expect("a plain path");
    let output = versus(&["--quick", "--json", "--filter", FILTER, "--plot", path]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
    let rows = report["rows"].as_array().expect("rows");
    let find = |hash: &str, op: &str| {
        rows.iter()
            .find(|row| row["op"] == op && row["hash"] == hash)
            .unwrap_or_else(|| panic!("no row for {op} with the hash {hash}"))
    };
    for op in SPEEDS {
        let row = find("raw", op);
        assert_eq!(row["filter"], FILTER);
        assert_eq!(row["slots_log2"], 14);
        for field in ["mops", "ratio", "ratio_p10", "ratio_p90", "bits_per_item", "error_rate"] {
            let number = row[field].as_f64();
            assert!(number.is_some_and(|number| number.is_finite() && number > 0.0), "{op} {field}: {row}");
        }
        assert!(row["ratio_p10"].as_f64() <= row["ratio_p90"].as_f64());
    }
    for op in SPEEDS.iter().filter(|op| !["bulk_load", "merge"].contains(op)) {
        assert!(find("own", op)["ratio"].is_f64());
    }
    for op in ["hash_only", "hash_only_16_bytes", "p999_insert_ns"] {
        assert!(find("own", op)["value"].as_f64().is_some_and(f64::is_finite), "{op}");
    }
    if cfg!(target_os = "linux") {
        assert!(find("raw", "grow_peak_bytes")["value"].is_f64());
    }
    let rate = find("raw", "contains_absent")["error_rate"].as_f64().unwrap();
    assert!((0.0012..0.0024).contains(&rate), "9 bits at 90 % load err in 0.18 % of cases, not {rate}");

    let svg = std::fs::read_to_string(&plot).expect("the plot is there");
    std::fs::remove_file(&plot).expect("the plot can be removed");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains(FILTER) && svg.contains("insert_last_tenth"));
}

#[test]
fn peers_have_rows_and_a_table() {
    let output = versus(&["--quick", "--filter", "all", "--op", "contains_absent", "build_unsorted"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).expect("text");
    for name in ["qfilter", "fastbloom", "sbbf-rs-safe", "xorf-fuse8", "xorf-fuse16", "cuckoofilter"] {
        assert!(table.contains(name), "{table}");
    }
}

#[test]
fn an_unknown_filter_is_an_error_that_names_the_known_ones() {
    let output = versus(&["--filter", "twiceshy-quotent-fast"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).expect("text");
    assert!(error.contains(FILTER) && error.contains("qfilter") && error.contains("fastbloom"), "{error}");
}

#[test]
fn the_list_names_all_filters() {
    let output = versus(&["--list"]);
    let list = String::from_utf8(output.stdout).expect("text");
    assert!(list.contains(FILTER) && list.contains("twiceshy-quotient-keyed") && list.contains("qfilter"));
}

/// Rates below what was asked for, but for the filter that cuts keys; the filters double, and all keys are read for it or none.
#[test]
fn range_filters_keep_their_rates_and_a_truncating_one_does_not() {
    let program = env!("CARGO_BIN_EXE_ranges");
    let output = Command::new(program).args(["--quick", "--json"]).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
    let number = |row: &Value, field: &str| row[field].as_f64().unwrap_or_else(|| panic!("{field}: {row}"));
    let asked = number(&report, "error_rate");
    let rows = |name: &str| report[name].as_array().expect("rows").clone();
    for row in rows("rates") {
        for kind in ["uniform", "correlated", "worst_distance", "zipf"] {
            let is_beside = ["correlated", "worst_distance"].contains(&kind);
            let fails = row["filter"] == "truncating" && is_beside;
            assert_eq!(number(&row, kind) > asked, fails, "{kind}: {row}");
        }
    }
    let growth = rows("growth");
    assert_eq!(growth.len(), 3 * 4);
    for row in &growth {
        assert!(number(row, "uniform") <= asked && number(row, "correlated") <= asked, "{row}");
        let reads_all = row["filter"] == "adaptive, full" && number(row, "doublings") > 0.0;
        assert_eq!(number(row, "keys_read") > 0.0, reads_all, "{row}");
    }
    let output = Command::new(program).args(["--quick"]).output().expect("the program starts");
    let tables = String::from_utf8(output.stdout).expect("text");
    assert!(tables.contains("| truncating |") && tables.contains("| adaptive, full | 3 |"), "{tables}");
}

/// Lists of a few keys: no listed key is wrong, or the program fails.
#[test]
fn sizes_of_lists_are_measured_and_drawn() {
    let plot = std::env::temp_dir().join(format!("twiceshy-lists-{}.svg", std::process::id()));
    let path = plot.to_str().expect("a plain path");
    let program = env!("CARGO_BIN_EXE_lists");
    let run = |arguments: &[&str]| {
        let output =
            Command::new(program).args(["--keys", "2000", "--queries", "4096"]).args(arguments).output();
        let output = output.expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let report: Value =
        serde_json::from_slice(&run(&["--part", "sizes", "--json", "--plot", path])).expect("valid JSON");
    let rows = report["sizes"].as_array().expect("rows");
    assert_eq!(rows.len(), 48);
    for row in rows {
        let number = |list: &str, field: &str| row[list][field].as_f64().expect("a number");
        assert!(number("frozen", "bits") >= row["least_bits"].as_f64().expect("a number"), "{row}");
        for list in ["frozen", "dynamic", "fixed", "cascade", "clubcard"] {
            assert!((0.0..=1.0).contains(&number(list, "rate")) && number(list, "bits") > 0.0, "{row}");
        }
    }
    let svg = std::fs::read_to_string(&plot).expect("the plot was written");
    std::fs::remove_file(&plot).expect("the plot can be removed");
    assert!(svg.starts_with("<svg") && svg.contains("frozen list"));
    let tables = String::from_utf8(run(&["--part", "deltas"])).expect("text");
    assert_eq!(tables.lines().filter(|line| line.starts_with("| 1/16 | 2^-")).count(), 2, "{tables}");
}

/// Whoever learns is as seldom mistaken as it promises in every game, and whoever does not is mistaken about all that is repeated.
#[test]
fn filters_that_learn_hold_in_games_and_others_do_not() {
    let program = env!("CARGO_BIN_EXE_games");
    let small = ["--keys", "500", "--queries", "20000", "--mistakes", "50", "--json"];
    let output = Command::new(program).args(small).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 7 * 9, "seven filters, nine games");
    for row in rows {
        let (rate, queries) = (row["error_rate"].as_f64().unwrap(), row["queries"].as_f64().unwrap());
        if let Some(promised) = row["promised"].as_f64() {
            assert!(rate <= promised + 5.0 * (promised / queries).sqrt(), "{row}");
        }
        let learns = !["quotient", "Bloom"].contains(&row["filter"].as_str().unwrap());
        if row["game"] == "cycle of 50" && !learns {
            assert_eq!(rate, 1.0, "{row}");
        }
    }
    let output = Command::new(program).args(&small[..6]).output().expect("the program starts");
    let table = String::from_utf8(output.stdout).expect("text");
    assert!(table.contains("| churn | adaptive, rotates |"), "{table}");
}
