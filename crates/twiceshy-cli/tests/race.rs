//! `twiceshy race` from the outside: the real program, real files, small races.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The race. It may be interrupted, also if this test may not, because it is run in the background.
fn twiceshy() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_twiceshy")]);
    command.stdin(Stdio::null()).arg("race");
    command
}

/// A small race with its results in `out` and its stores in `dir` below the folder, without its cold part.
fn race(folder: &Path, args: &[&str]) -> Output {
    let rest: &[&str] = if args.contains(&"--no-cold") { &[] } else { &["--no-cold"] };
    whole_race(folder, &[args, rest].concat())
}

fn whole_race(folder: &Path, args: &[&str]) -> Output {
    let dir = folder.join("dir");
    fs::create_dir_all(&dir).unwrap();
    let mut command = twiceshy();
    command.arg("--out").arg(folder.join("out")).arg("--dir").arg(dir);
    let has = |name| args.contains(&name);
    if !has("--keys") && !has("--key-file") {
        command.args(["--keys", "3000"]);
    }
    if !has("--queries") {
        command.args(["--queries", "4000"]);
    }
    command.args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What it said, wherever lines were broken.
fn in_one_line(output: &Output) -> String {
    text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("out/race.json")).unwrap()).unwrap()
}

/// Names of files in a folder; of none if there is no folder.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn assert_done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// It ended with status 2, said all of this, and left nothing behind.
fn assert_refused(folder: &Path, output: &Output, said: &[&str]) {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    for part in said {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
    assert!(output.stdout.is_empty() && !message.contains("panicked"), "{message}");
    assert_eq!(names(&folder.join("dir")), [""; 0]);
    assert_eq!(names(&folder.join("out")), [""; 0]);
}

/// Takes out everything that is a time.
fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                name != "started"
                    && name != "disk_bytes"
                    && !name.ends_with("seconds")
                    && !name.ends_with("per_second")
            });
            fields.values_mut().for_each(without_times);
        }
        Value::Array(values) => values.iter_mut().for_each(without_times),
        _ => (),
    }
}

/// What is said in a race of keys, and in a race of ranges instead.
const OF_KEYS: [&str; 6] = ["Bloom", "quotient", "Zipf", "absent keys", "for new keys:", "same keys again"];
const OF_RANGES: [&str; 7] = [
    "prefix Bloom",
    "range",
    "correlated",
    "Close to keys",
    "empty ranges",
    "for ranges anywhere:",
    "same ranges again",
];

#[test]
fn a_race_ends_with_a_table_a_summary_and_two_files() {
    for args in [
        ["--engine", "fjall"].as_slice(),
        &["--engine", "redb"],
        &["--engine", "fjall", "--ranges"],
        &["--engine", "redb", "--ranges"],
    ] {
        let (engine, is_of_ranges) = (args[1], args.len() > 2);
        let folder = TempDir::new().unwrap();
        let output = whole_race(folder.path(), args);
        assert_done(&output);
        let said = text(&output.stdout);
        let (special, others): (&[&str], &[&str]) =
            if is_of_ranges { (&OF_RANGES, &OF_KEYS[1..]) } else { (&OF_KEYS, &OF_RANGES[2..]) };
        for part in special {
            assert!(in_one_line(&output).contains(part), "no {part:?} in: {said}");
        }
        assert!(!others.iter().any(|part| in_one_line(&output).contains(part)), "{said}");
        for part in [
            "adaptive",
            "no filter",
            "uniform",
            "attack 10 %",
            "bits/key",
            "Under attack:",
            "all filters with the same memory",
            "files in memory",
            engine,
        ] {
            assert!(said.contains(part), "no {part:?} in: {said}");
        }
        assert!(!said.contains("simulated"), "{said}");
        assert!(said.contains("out/race.html\n") && said.contains("out/race.json\n"), "{said}");
        // Not a terminal: no escape codes, no live table.
        assert!(!said.contains('\u{1b}') && output.stderr.is_empty(), "{}", text(&output.stderr));
        assert_eq!(names(&folder.path().join("out")), ["race.html", "race.json"]);
        assert_eq!(names(&folder.path().join("dir")), [""; 0]);
        let page = fs::read_to_string(folder.path().join("out/race.html")).unwrap();
        for part in [
            "id=\"plot-time\"",
            "id=\"plot-lookups\"",
            "id=\"plot-speed\"",
            "id=\"plot-space\"",
            "<title>twiceshy race: Under attack",
            "<h1>Under attack",
            "lower is better",
            // Lines are broken between options.
            "<span>--seed 1</span>",
            "prefers-color-scheme",
        ] {
            assert!(page.contains(part), "no {part:?} in the page");
        }
        assert_eq!(page.contains("ranges beside keys"), is_of_ranges);
        assert_eq!(page.contains("absent keys"), !is_of_ranges);
        let foreign = page.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !foreign.contains("http") && !foreign.contains("src=") && !foreign.contains("class=\"warning\"")
        );
    }
}

#[test]
fn the_sums_of_the_figures_agree() {
    for special in [[].as_slice(), &["--ranges"]] {
        sums_agree(special);
    }
}

fn sums_agree(special: &[&str]) {
    let folder = TempDir::new().unwrap();
    let args = ["--adversary", "5,50%", "--error-rate", "0.02", "--json"];
    let output = race(folder.path(), &[&args, special].concat());
    assert_done(&output);
    let report = json(folder.path());
    let max_range = report["settings"]["max_range"].as_u64();
    assert_eq!(max_range, special.first().map(|_| 32));
    assert_eq!(report["settings"]["skew"].is_null(), max_range.is_some());
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), report);
    assert_eq!(report["settings"]["keys"], 3000);
    assert_eq!(report["settings"]["adversary_percent"], serde_json::json!([5.0, 50.0]));
    assert_eq!(report["phases"].as_array().unwrap().len(), 4);
    let stores = report["stores"].as_array().unwrap();
    assert_eq!(stores.len(), 4);
    for store in stores {
        let bits = store["filter_bytes"].as_u64().unwrap() as f64 * 8.0 / 3000.0;
        assert!((store["filter_bits_per_key"].as_f64().unwrap() - bits).abs() < 1e-6);
        let phases = store["phases"].as_array().unwrap();
        assert_eq!(phases.len(), 4);
        for phase in phases {
            let count = |of: &Value, name: &str| of[name].as_u64().unwrap();
            assert_eq!(count(phase, "queries"), 4000);
            // All keys are absent, and all ranges are empty: whatever reaches the engine is a false positive.
            assert_eq!(count(phase, "engine_lookups"), count(phase, "false_positives"));
            for name in ["queries", "replayed", "engine_lookups", "false_positives", "learning_lookups"] {
                let sum: u64 =
                    phase["windows"].as_array().unwrap().iter().map(|window| count(window, name)).sum();
                assert_eq!(sum, count(phase, name), "{name}");
            }
            let speed = 4000.0 / phase["seconds"].as_f64().unwrap();
            assert!((phase["queries_per_second"].as_f64().unwrap() / speed - 1.0).abs() < 1e-6);
        }
        assert_eq!(
            store["present"]["engine_lookups"], 3000,
            "keys that are there reach the engine, all of them"
        );
        if store["name"] == "no filter" {
            assert!(phases.iter().all(|phase| phase["engine_lookups"] == 4000));
        }
        if store["name"] != "adaptive" {
            assert!(phases.iter().all(|phase| phase["learning_lookups"] == 0));
        }
    }
}

/// What the race is for.
#[test]
fn an_attack_helps_against_every_filter_but_the_adaptive_one() {
    let folder = TempDir::new().unwrap();
    assert_done(&race(folder.path(), &["--error-rate", "0.01", "--queries", "20000", "--adversary", "10"]));
    let report = json(folder.path());
    let lookups = |store: &Value, phase: usize| {
        let phase = &store["phases"][phase];
        phase["engine_lookups"].as_u64().unwrap() + phase["learning_lookups"].as_u64().unwrap()
    };
    for store in report["stores"].as_array().unwrap() {
        let (before, attacked) = (lookups(store, 0), lookups(store, 2));
        match store["name"].as_str().unwrap() {
            // A hundred or so; seven standard deviations.
            "adaptive" => assert!(
                attacked as f64 <= before as f64 + 7.0 * (before as f64).sqrt(),
                "{before}, {attacked}"
            ),
            "Bloom" | "quotient" => assert!(attacked > before + 1_500, "{store}: {before}, {attacked}"),
            _ => assert_eq!((before, attacked), (20_000, 20_000)),
        }
    }
}

/// What the race of ranges is for: beside keys, and under attack.
#[test]
fn only_the_adaptive_range_filter_holds_its_rate_in_all_phases() {
    for engine in ["fjall", "redb"] {
        let folder = TempDir::new().unwrap();
        let args = [
            "--ranges",
            "--engine",
            engine,
            "--error-rate",
            "0.2",
            "--queries",
            "20000",
            "--adversary",
            "10",
        ];
        assert_done(&race(folder.path(), &args));
        let report = json(folder.path());
        assert_eq!(report["phases"][1], serde_json::json!({ "kind": "correlated" }));
        let mistakes = |store: &Value| {
            [0, 1, 2].map(|phase| store["phases"][phase]["false_positives"].as_f64().unwrap())
        };
        let names = report["stores"].as_array().unwrap().iter().map(|store| store["name"].as_str().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["adaptive", "prefix Bloom", "range", "no filter"]);
        for store in report["stores"].as_array().unwrap() {
            let [anywhere, beside, attacked] = mistakes(store);
            // Some hundred or so; seven standard deviations.
            let about = |now: f64| now <= anywhere + 7.0 * anywhere.sqrt();
            match store["name"].as_str().unwrap() {
                "adaptive" => {
                    assert!(
                        anywhere > 50.0 && about(beside) && about(attacked),
                        "{anywhere} {beside} {attacked}"
                    );
                    assert!(store["phases"][0]["learning_lookups"].as_f64().unwrap() >= anywhere);
                }
                "prefix Bloom" => {
                    assert!(
                        (9_000.0..11_000.0).contains(&beside) && attacked > 1_700.0,
                        "{beside} {attacked}"
                    );
                }
                "range" => {
                    assert!(about(beside) && attacked > anywhere + 1_700.0, "{anywhere} {beside} {attacked}")
                }
                _ => assert_eq!([anywhere, beside, attacked], [20_000.0; 3]),
            }
        }
    }
}

/// From single keys to the longest ranges.
#[test]
fn ranges_of_any_length() {
    for max_range in ["1", "2", "100", "65536"] {
        let folder = TempDir::new().unwrap();
        let args = ["--ranges", "--max-range", max_range, "--keys", "2000", "--queries", "2000"];
        assert_done(&race(folder.path(), &args));
        let report = json(folder.path());
        assert_eq!(report["settings"]["max_range"].as_u64(), max_range.parse().ok());
        for store in report["stores"].as_array().unwrap() {
            assert_eq!(store["present"]["engine_lookups"], 2000);
            let beside = store["phases"][1]["false_positives"].as_u64().unwrap();
            match store["name"].as_str().unwrap() {
                "no filter" => assert_eq!(beside, 2_000),
                // A range of one key has a prefix of its own.
                "prefix Bloom" if max_range != "1" => assert!((400..1_600).contains(&beside), "{beside}"),
                // Slots of a range filter are a power of two, so that it may have few bits left.
                _ => assert!(beside < 100, "{beside}"),
            }
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_mistakes() {
    let figures = |args: &[&str], seed: &str| {
        let folder = TempDir::new().unwrap();
        assert_done(&race(folder.path(), &[args, &["--error-rate", "0.2", "--seed", seed]].concat()));
        let mut report = json(folder.path());
        without_times(&mut report);
        report
    };
    for args in [
        ["--engine", "redb", "--queries", "10000", "--keys", "3000", "--adversary", "1,3"].as_slice(),
        // So many mistakes that the filter grows during the race, which is done in the background.
        &["--engine", "fjall", "--queries", "60000", "--keys", "62200", "--adversary", "10"],
        &["--engine", "redb", "--queries", "20000", "--keys", "3000", "--adversary", "10", "--ranges"],
    ] {
        let first = figures(args, "1");
        let adaptive = &first["stores"][0];
        let has_grown = adaptive["filter_bytes"].as_u64() > adaptive["filter_bytes_loaded"].as_u64();
        assert!(has_grown || args[1] == "redb", "{adaptive}");
        assert_eq!(first, figures(args, "1"));
        assert_ne!(first["stores"], figures(args, "8")["stores"]);
    }
}

#[test]
fn the_command_on_the_page_runs_the_same_race() {
    for special in [["--skew", "0.9"].as_slice(), &["--ranges", "--max-range", "100"]] {
        runs_the_same_race(special);
    }
}

fn runs_the_same_race(special: &[&str]) {
    let folder = TempDir::new().unwrap();
    let args = ["--adversary", "2.5", "--cache", "1M", "--latency", "5us", "--equal-rate", "--no-cold"];
    assert_done(&race(folder.path(), &[&args, special].concat()));
    let mut first = json(folder.path());
    let command = first["settings"]["command"].as_str().unwrap().to_owned();
    let args: Vec<_> = command.split(' ').skip(2).collect();
    assert_done(&race(folder.path(), &args));
    let mut again = json(folder.path());
    without_times(&mut first);
    without_times(&mut again);
    assert_eq!(first, again);
}

#[test]
fn keys_come_from_a_file_as_they_are() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("my keys");
    // CRLF, blank lines, bytes that are not UTF-8, a key twice, no end of the last line.
    let mut lines = b"ant\r\nbee\n\n\r\n\xff\xfe\x00\nant\n".to_vec();
    (0..500).for_each(|number| lines.extend(format!("key {number}\n").bytes()));
    lines.extend(b"wasp");
    fs::write(&path, lines).unwrap();
    let output = race(folder.path(), &["--key-file", path.to_str().unwrap()]);
    assert_done(&output);
    let settings = &json(folder.path())["settings"];
    assert_eq!((settings["rows"].as_u64(), settings["keys"].as_u64()), (Some(505), Some(504)));
    assert!(settings["command"].as_str().unwrap().contains("my keys'"));
    let output = race(folder.path(), &["--key-file", path.to_str().unwrap(), "--keys", "3"]);
    assert_done(&output);
    assert_eq!(json(folder.path())["settings"]["keys"], 3);
}

#[test]
fn key_files_that_cannot_be_used_are_refused() {
    let folder = TempDir::new().unwrap();
    let empty = folder.path().join("empty");
    fs::write(&empty, "\n\r\n\n").unwrap();
    let refused = |path: &str, said: &[&str]| {
        assert_refused(folder.path(), &race(folder.path(), &["--key-file", path]), said);
    };
    refused("/no/such/file", &["/no/such/file", "No such file"]);
    refused(empty.to_str().unwrap(), &["no key in", "one per line"]);
    refused(folder.path().to_str().unwrap(), &["is a folder"]);
    refused("-", &["more than once", "give the name of a file"]);
    refused("/dev/null", &["regular file"]);
}

#[test]
fn values_that_make_no_sense_are_refused_with_a_remedy() {
    let folder = TempDir::new().unwrap();
    for (args, said) in [
        (["--keys", "0"], "at least 1"),
        (["--keys", "-5"], "--keys"),
        (["--keys", "many"], "whole number"),
        (["--queries", "0"], "at least 1"),
        (["--skew", "NaN"], "finite"),
        (["--skew", "-1"], "--skew"),
        (["--skew", "11"], "from 0 to 10"),
        (["--adversary", "101"], "from 0 to 100"),
        (["--adversary", "1,NaN"], "finite"),
        (["--adversary", "0"], "above 0"),
        (["--error-rate", "1"], "below 1"),
        (["--error-rate", "0"], "above 0"),
        (["--error-rate", "1e-300"], "more usual --error-rate"),
        (["--engine", "oracle"], "fjall and redb"),
        (["--cache", "lots"], "10%"),
        (["--latency", "5"], "100us"),
        (["--seed", "x"], "--seed"),
        (["--nothing", "1"], "--nothing"),
        (["--max-range", "0"], "at least 1"),
        (["--max-range", "65537"], "65536"),
        (["--max-range", "5"], "--ranges"),
        (["--ranges --skew", "1"], "cannot be used with"),
        (["--ranges --key-file", "keys"], "cannot be used with"),
        (["--ranges --error-rate", "1e-300"], "more usual --error-rate"),
    ] {
        let args: Vec<_> = format!("{}={}", args[0], args[1]).split(' ').map(str::to_owned).collect();
        let dir = folder.path().join("dir");
        fs::create_dir_all(&dir).unwrap();
        let output =
            twiceshy().arg("--out").arg(folder.path().join("out")).arg("--dir").arg(dir).args(&args).output();
        assert_refused(folder.path(), &output.unwrap(), &[said]);
    }
}

#[test]
fn places_where_nothing_can_be_written_are_found_out_before_the_race() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    let below = file.join("below");
    let start = Instant::now();
    // A race that would take long.
    let long = |args: &[&str]| twiceshy().args(["--keys", "100000000"]).args(args).output().unwrap();
    let (file, below) = (file.to_str().unwrap(), below.to_str().unwrap());
    assert_refused(folder.path(), &long(&["--out", file]), &["not a folder", "--out"]);
    assert_refused(folder.path(), &long(&["--out", below]), &["cannot make the folder", "--out"]);
    // Nobody can make files there, not even root.
    if Path::new("/proc/self").exists() {
        assert_refused(folder.path(), &long(&["--out", "/proc/self"]), &["cannot write", "--out"]);
    }
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    assert_refused(folder.path(), &long(&["--out", out, "--dir", below]), &["--dir"]);
    assert_refused(folder.path(), &long(&["--out", out, "--svg", below]), &["not a folder", "--svg"]);
    // Nor is a text lost to a picture.
    assert_refused(folder.path(), &long(&["--out", out, "--svg", file]), &["is not an SVG picture", "--svg"]);
    // What is there and is not a file stays as it is: nobody wants a picture in the place of a device.
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for place in [folder.path(), &pipe] {
        let said = ["is not a regular file", "--svg"];
        assert_refused(folder.path(), &long(&["--out", out, "--svg", place.to_str().unwrap()]), &said);
    }
    fs::remove_file(pipe).unwrap();
    let taken = folder.path().join("taken");
    fs::create_dir_all(taken.join("race.html")).unwrap();
    assert_refused(
        folder.path(),
        &long(&["--out", taken.to_str().unwrap()]),
        &["is not a regular file", "--out"],
    );
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
}

#[test]
fn simulated_latency_is_felt_and_labelled_everywhere() {
    let folder = TempDir::new().unwrap();
    let picture = folder.path().join("race.svg");
    let args = ["--latency", "200us", "--queries", "100", "--svg", picture.to_str().unwrap()];
    let output = whole_race(folder.path(), &args);
    assert_done(&output);
    let report = json(folder.path());
    assert_eq!(report["settings"]["simulated_latency"].as_f64(), Some(0.0002));
    let none =
        report["stores"].as_array().unwrap().iter().find(|store| store["name"] == "no filter").unwrap();
    assert!(
        none["phases"].as_array().unwrap().iter().all(|phase| phase["seconds"].as_f64().unwrap() >= 0.02)
    );
    let said = in_one_line(&output);
    assert!(said.contains("Queries per second, simulated latency"), "{said}");
    assert!(said.contains("With simulated latency a query") && !said.contains("files in memory"), "{said}");
    // Nor is there a real disk beside it.
    assert!(said.contains("were not run: the latency is simulated"), "{said}");
    let page = fs::read_to_string(folder.path().join("out/race.html")).unwrap();
    assert!(page.contains("class=\"warning\"") && page.contains("Speed under attack, simulated latency"));
    assert!(fs::read_to_string(picture).unwrap().contains("simulated latency"));
}

#[test]
fn filters_have_the_same_memory_or_the_same_rate() {
    let run = |args: &[&str]| {
        let folder = TempDir::new().unwrap();
        let output = race(folder.path(), &[args, &["--keys", "10000", "--queries", "30000"]].concat());
        assert_done(&output);
        let page = fs::read_to_string(folder.path().join("out/race.html")).unwrap();
        (json(folder.path()), in_one_line(&output), page)
    };
    let memory = |report: &Value, number: usize| {
        report["stores"][number]["filter_bytes_loaded"].as_u64().unwrap() as f64
    };
    let mistakes = |report: &Value, number: usize| {
        report["stores"][number]["phases"][0]["false_positives"].as_u64().unwrap()
    };
    let (report, said, page) = run(&["--error-rate", "0.01"]);
    for twin in [1, 2] {
        let share = memory(&report, twin) / memory(&report, 0);
        // A quotient filter has whole bits in each of its slots.
        assert!((0.9..=1.0).contains(&share), "{share}");
        assert!(mistakes(&report, twin) < mistakes(&report, 0), "{report}");
    }
    for said in [&said, &page] {
        assert!(said.contains("all filters with the same memory"), "{said}");
        assert!(!said.contains("all filters built for the same error rate"), "{said}");
    }
    let (report, said, page) = run(&["--error-rate", "0.01", "--equal-rate"]);
    assert!(memory(&report, 1) < 0.8 * memory(&report, 0), "{report}");
    // 300, and the Bloom filter, whose size is known beforehand, needs no reserve.
    assert!((150..450).contains(&mistakes(&report, 1)), "{report}");
    for said in [&said, &page] {
        assert!(said.contains("all filters built for the same error rate, 0.01"), "{said}");
        assert!(!said.contains("all filters with the same memory"), "{said}");
    }
    // Very short fingerprints of the quotient filter, many of which are the same; the adaptive one learns so much that it grows.
    let (_, said, page) = run(&["--error-rate", "0.9"]);
    assert!(
        said.contains("same memory when they were loaded") && said.contains("it has grown from"),
        "{said}"
    );
    assert!(page.contains("same memory when they were loaded"));
    run(&["--error-rate", "0.9", "--equal-rate"]);
    // And with ranges.
    let (report, _, _) = run(&["--ranges", "--error-rate", "0.01"]);
    for twin in [1, 2] {
        let share = memory(&report, twin) / memory(&report, 0);
        assert!((0.9..=1.0).contains(&share), "{share}");
    }
    assert!(mistakes(&report, 1) < mistakes(&report, 0));
    let (report, _, _) = run(&["--ranges", "--error-rate", "0.05", "--equal-rate"]);
    for twin in [1, 2] {
        let (share, mistakes) = (memory(&report, twin) / memory(&report, 0), mistakes(&report, twin));
        assert!(share < 1.0 && (100..1_600).contains(&mistakes), "{twin}: {share}, {mistakes}");
    }
    // A range filter whose slots are mostly empty does not fit into what the adaptive one has.
    let (report, said, page) = run(&["--ranges", "--error-rate", "0.9"]);
    assert!(memory(&report, 2) > memory(&report, 0));
    for said in [said, page] {
        assert!(said.contains("but the range filter, which does not fit into it"), "{said}");
    }
    run(&["--ranges", "--error-rate", "0.9", "--equal-rate"]);
}

/// Where files can be evicted from the operating system's cache, a lookup is slower then.
#[test]
fn cold_files_are_slower_and_labelled() {
    let folder = TempDir::new().unwrap();
    let run = |args: &[&str]| {
        let output = whole_race(folder.path(), args);
        assert_done(&output);
        (json(folder.path()), in_one_line(&output))
    };
    for engine in ["fjall", "redb"] {
        let (report, said) = run(&["--engine", engine]);
        let Value::Null = report["cold_left_out"] else {
            // Temporary files are in memory.
            assert!(said.contains("were not run: the stores lie in memory"), "{said}");
            continue;
        };
        assert!(said.contains("Queries per second, files read from disk"), "{said}");
        let page = fs::read_to_string(folder.path().join("out/race.html")).unwrap();
        assert!(
            page.contains("id=\"plot-cold\"") && page.contains("Speed under attack, files read from disk")
        );
        let stores = report["stores"].as_array().unwrap();
        for store in stores {
            assert_eq!(store["cold"].as_array().unwrap().len(), 5);
        }
        let speed = |part: &str| stores[3][part][0]["median_per_second"].as_f64().unwrap();
        assert!(speed("cold") * 3.0 < speed("phases"), "{} {}", speed("cold"), speed("phases"));
    }
    let (report, said) = run(&["--no-cold"]);
    assert!(report["stores"][0]["cold"].as_array().unwrap().is_empty());
    assert!(
        said.contains("were not run: so it was asked for") && !said.contains("second, files read from disk")
    );
}

/// Evicting has no effect there: that part of the race would show the wrong thing.
#[cfg(target_os = "linux")]
#[test]
fn files_in_memory_are_never_cold() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
    let output = whole_race(folder.path(), &["--queries", "100"]);
    assert_done(&output);
    let why = json(folder.path())["cold_left_out"].as_str().unwrap().to_owned();
    assert!(why.contains("in memory") && why.contains("--dir"), "{why}");
    assert!(in_one_line(&output).contains(&why));
}

#[test]
fn replaced_results_are_told_with_the_same_paths() {
    let folder = TempDir::new().unwrap();
    let run = || {
        let mut command = twiceshy();
        command.args(["--keys", "200", "--queries", "200", "--no-cold", "--svg", "race.svg"]);
        let output = command.current_dir(folder.path()).output().unwrap();
        assert_done(&output);
        text(&output.stdout)
    };
    let places = "\nThe page: ./race.html\nAll figures: ./race.json\nThe picture: race.svg\n";
    let first = run();
    assert!(first.ends_with(places), "{first}");
    let again = run();
    assert!(again.ends_with(&places[1..].replace('\n', " (replaces an earlier one)\n")), "{again}");
}

/// On a terminal of 60 columns no line is broken by the terminal.
#[cfg(target_os = "linux")]
#[test]
fn it_can_be_read_on_a_narrow_terminal() {
    let folder = TempDir::new().unwrap();
    let line = format!(
        "stty cols 60 rows 24; '{}' race --keys 20000 --queries 30000 --out {} 2>/dev/null",
        env!("CARGO_BIN_EXE_twiceshy"),
        folder.path().display()
    );
    let output =
        Command::new("script").args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).output().unwrap();
    assert_done(&output);
    let said = text(&output.stdout);
    assert!(said.contains("attack 10 %") && said.contains("Under attack:"), "{said}");
    let folder = folder.path().display().to_string();
    for line in said.lines().filter(|line| !line.contains(&folder)) {
        assert!(line.chars().count() <= 60, "{line}");
    }
}

#[test]
fn closed_pipes_end_it_quietly() {
    let folder = TempDir::new().unwrap();
    let mut command = twiceshy();
    command.args(["--keys", "500", "--queries", "500", "--out"]).arg(folder.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    assert_eq!(names(folder.path()), ["race.html", "race.json"], "the files are there all the same");
}

/// What was found out in a minute is shown, even if its files find no place any more.
#[test]
fn figures_are_shown_even_if_they_cannot_be_written() {
    let folder = TempDir::new().unwrap();
    let (out, dir) = (folder.path().join("out"), folder.path().join("dir"));
    fs::create_dir(&out).unwrap();
    fs::create_dir(&dir).unwrap();
    let mut command = twiceshy();
    command.args(["--keys", "1000", "--queries", "50000"]).arg("--out").arg(&out).arg("--dir").arg(&dir);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while names(&dir).is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    fs::remove_dir(&out).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("Under attack:"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("--out"), "{}", text(&output.stderr));
    assert_eq!(names(&dir), [""; 0]);
}

/// The same if its stores cannot be removed: here, because somebody has moved them away.
#[cfg(unix)]
#[test]
fn figures_are_shown_even_if_the_stores_cannot_be_removed() {
    let folder = TempDir::new().unwrap();
    let (out, dir) = (folder.path().join("out"), folder.path().join("dir"));
    fs::create_dir(&dir).unwrap();
    let mut command = twiceshy();
    command.args(["--engine", "redb", "--keys", "300", "--queries", "20000"]);
    command.arg("--out").arg(&out).arg("--dir").arg(&dir);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    let all_made = || names(&dir).first().filter(|name| dir.join(name).join("3/rows").exists()).cloned();
    let name = loop {
        if let Some(name) = all_made() {
            break name;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "no stores were made");
        std::thread::sleep(Duration::from_millis(1));
    };
    fs::rename(dir.join(name), folder.path().join("moved")).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot remove") && said.contains("please do"), "{said}");
    assert!(text(&output.stdout).contains("Under attack:"), "{}", text(&output.stdout));
    assert_eq!(names(&out), ["race.html", "race.json"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing_behind() {
    let folder = TempDir::new().unwrap();
    let (dir, out) = (folder.path().join("dir"), folder.path().join("out"));
    fs::create_dir(&dir).unwrap();
    // Once while it loads, once while it is asked.
    for (keys, queries, wait) in [("100000000", "10", 300), ("1000", "100000000", 2_000)] {
        let mut command = twiceshy();
        command.args(["--keys", keys, "--queries", queries]).arg("--out").arg(&out).arg("--dir").arg(&dir);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        while names(&dir).is_empty() && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(names(&dir).len(), 1, "the stores lie where they should");
        std::thread::sleep(Duration::from_millis(wait));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty());
        assert!(text(&output.stderr).contains("interrupted"));
        assert_eq!(names(&dir), [""; 0]);
        assert!(!out.exists(), "a folder that was made for the results is gone, too");
    }
}

/// Whoever presses Ctrl-C again and again wants the program to end now, but nothing to stay behind.
#[cfg(unix)]
#[test]
fn several_signals_leave_nothing_behind_either() {
    let folder = TempDir::new().unwrap();
    let (dir, out) = (folder.path().join("dir"), folder.path().join("out"));
    fs::create_dir(&dir).unwrap();
    // While the stores are made, while they are loaded, while they are asked.
    let moments = [("100000000", "10", 0), ("100000000", "10", 300), ("1000", "100000000", 1_500)];
    for (keys, queries, wait) in moments {
        for (signals, pause) in [("INT INT", "0.001"), ("INT INT INT", "0.01"), ("TERM TERM", "0.002")] {
            let mut command = twiceshy();
            command.args(["--keys", keys, "--queries", queries]);
            command.arg("--out").arg(&out).arg("--dir").arg(&dir);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let start = Instant::now();
            while names(&dir).is_empty() && start.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(wait));
            // The last ones may find nobody.
            let line = format!("for name in {signals}; do kill -$name {}; sleep {pause}; done", child.id());
            Command::new("sh").args(["-c", &line]).stderr(Stdio::null()).status().unwrap();
            let output = child.wait_with_output().unwrap();
            let (context, said) = (format!("{signals} after {wait} ms"), text(&output.stderr));
            assert_eq!(output.status.code(), Some(130), "{context}: {said}");
            assert!(output.stdout.is_empty() && !said.contains("panicked"), "{context}: {said}");
            assert_eq!(names(&dir), [""; 0], "{context}: {said}");
            assert!(!out.exists(), "{context}: a folder that was made for the results is gone, too");
        }
    }
}

/// Nothing can be done when a race is killed; the next one tidies up, and leaves alone what others are using.
#[cfg(unix)]
#[test]
fn the_next_race_removes_what_a_killed_one_left() {
    let folder = TempDir::new().unwrap();
    let (dir, out) = (folder.path().join("dir"), folder.path().join("out"));
    fs::create_dir(&dir).unwrap();
    let start = || {
        let mut command = twiceshy();
        command.args(["--keys", "100000000"]).arg("--out").arg(&out).arg("--dir").arg(&dir);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    // The first store is made after the folder was locked.
    let has_store = |name: &String| dir.join(name).join("0").exists();
    let wait_for_store = |known: &[String]| {
        let start = Instant::now();
        loop {
            let found = names(&dir).into_iter().find(|name| !known.contains(name) && has_store(name));
            if found.is_some() || start.elapsed() > Duration::from_secs(20) {
                return found.expect("a store was made");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let killed = Killed(start());
    let leftover = wait_for_store(&[]);
    let running = Killed(start());
    let in_use = wait_for_store(std::slice::from_ref(&leftover));
    drop(killed);
    // What no race has locked is not a race's.
    let foreign = ["twiceshy-race-of-mine", "twiceshy-race-file", "another"];
    fs::create_dir(dir.join(foreign[0])).unwrap();
    fs::write(dir.join(foreign[1]), "mine").unwrap();
    fs::create_dir(dir.join(foreign[2])).unwrap();
    fs::write(dir.join(foreign[2]).join("in-use"), "").unwrap();
    assert!(names(&dir).contains(&leftover));
    assert_done(&race(folder.path(), &["--keys", "200", "--queries", "200"]));
    let mut expected: Vec<_> = foreign.iter().map(ToString::to_string).chain([in_use]).collect();
    expected.sort();
    assert_eq!(names(&dir), expected);
    drop(running);
}

/// A race that is killed when it is dropped, also by a test that fails.
#[cfg(unix)]
struct Killed(std::process::Child);

#[cfg(unix)]
impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
