//! `twiceshy store … --ordered` and `store range`, end to end. What ordered stores have in common with others is tried in
//! `store.rs`.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::RangeInclusive;

use common::{Sandbox, ended};
use serde_json::json;
use twiceshy::AdaptiveRangeFilter;
use twiceshy_store::OrderedStore;

const ENGINES: [&str; 2] = ["fjall", "redb"];

/// A sandbox with an ordered store of some rows.
fn store(options: &str, rows: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("store create s --ordered {options}")).ok();
    sandbox.feed("store import s", rows.as_bytes()).ok();
    sandbox
}

#[test]
fn rows_of_a_range_are_in_order() {
    for engine in ENGINES {
        let sandbox =
            store(&format!("--engine {engine} --key-type i64"), "10\tten\n-3\tminus\n9\tnine\n7\tseven\n");
        let range =
            |arguments: &str| sandbox.run(&format!("store range s {arguments}")).ok().text().to_owned();
        assert_eq!(range("-3 10"), "-3\tminus\n7\tseven\n9\tnine\n10\tten\n");
        assert_eq!(range("7 9"), "7\tseven\n9\tnine\n");
        assert_eq!(range("7 9 --exclude-start"), "9\tnine\n");
        assert_eq!(range("7 9 --exclude-end"), "7\tseven\n");
        assert_eq!(range("--exclude-start --exclude-end -3 9"), "7\tseven\n");
        assert_eq!(range(".. 7"), "-3\tminus\n7\tseven\n");
        assert_eq!(range("8 .."), "9\tnine\n10\tten\n");
        assert_eq!(range(".. .. --exclude-start --exclude-end"), range(".. .."));
        assert_eq!(range(".. .. --limit 2"), "-3\tminus\n7\tseven\n");
        assert_eq!(range(".. .. --count"), "4\n");
        assert_eq!(range(".. .. --count --limit 3"), "3\n");
        assert_eq!(range("-- -9223372036854775808 9223372036854775807"), range(".. .."));
        // As import reads them back.
        assert_eq!(range(".. .."), sandbox.run("store export s").ok().text());
        let objects = sandbox.run("store range s 9 10 --json").ok().json();
        assert_eq!(objects, [json!({ "key": "9", "value": "nine" }), json!({ "key": "10", "value": "ten" })]);
        assert_eq!(sandbox.run("store range s 9 10 --json --count").ok().json(), [json!({ "rows": 2 })]);
        // Nothing found.
        for arguments in ["0 6", "11 ..", ".. -4", "9 10 --exclude-start --exclude-end", "7 7 --exclude-end"]
        {
            let run = sandbox.run(&format!("store range s {arguments}")).status(1);
            assert_eq!((run.text(), run.err.as_str()), ("", ""), "{arguments}");
        }
        assert_eq!(sandbox.run("store range s 0 6 --count").status(1).text(), "0\n");
        assert_eq!(sandbox.run("store range s 0 6 --json").status(1).text(), "");
        assert_eq!(sandbox.run("store range s 0 6 --json --count").status(1).json(), [json!({ "rows": 0 })]);
        let run = sandbox.run("store range s 9 7").status(1);
        assert_eq!(run.err, "twiceshy: note: 9 comes after 7, so nothing is between them\n");
    }
}

/// The objects that docs/cli.md shows are those that are printed.
#[test]
fn json_is_as_documented() {
    let documentation = include_str!("../../../docs/cli.md");
    let sandbox = store("", "5\tfive\n");
    for options in ["", " --count"] {
        let run = sandbox.run(&format!("store range s 5 5 --json{options}")).ok();
        let example = format!("`{}`", run.text().trim_end());
        assert!(documentation.contains(&example), "{example}");
    }
}

#[test]
fn the_other_commands_know_what_keys_are() {
    for engine in ENGINES {
        let sandbox = store(
            &format!("--engine {engine} --key-type ipv4 --max-range 100"),
            "10.0.0.2\ttwo\n9.0.0.1\tnine\n",
        );
        assert_eq!(sandbox.run("store export s").ok().text(), "9.0.0.1\tnine\n10.0.0.2\ttwo\n");
        assert_eq!(sandbox.run("store get s 10.0.0.2 9.0.0.1").ok().text(), "two\nnine\n");
        assert_eq!(sandbox.run("store get s --with-key 9.0.0.1 9.0.0.2").status(1).text(), "9.0.0.1\tnine\n");
        let answers = sandbox.feed("store get s --json", b"9.0.0.1\n9.0.0.3\n").status(1).json();
        assert_eq!(answers[0], json!({ "found": true, "key": "9.0.0.1", "value": "nine" }));
        assert_eq!(answers[1], json!({ "found": false, "key": "9.0.0.3" }));
        let inserted = sandbox.run("store insert s --json 9.0.0.3 three").ok().json();
        assert_eq!(inserted, [json!({ "key": "9.0.0.3", "new": true })]);
        let inserted = sandbox.run("store insert s --json 9.0.0.3 3").ok().json();
        assert_eq!(inserted, [json!({ "key": "9.0.0.3", "new": false })]);
        assert_eq!(
            sandbox.run("store remove s 9.0.0.3 9.0.0.4").status(1).err,
            "twiceshy: not there: 1 of 2 keys\n"
        );
        let stats = &sandbox.run("store stats --json s").ok().json()[0];
        let told = (&stats["engine"], &stats["key_type"], &stats["max_range"], &stats["keys"]);
        assert_eq!(told, (&engine.into(), &"ipv4".into(), &128.into(), &2.into()));
        assert!(sandbox.run("store stats s").ok().text().contains("keys are ipv4, ranges of up to 128 keys"));
        assert_eq!(
            sandbox.run("store verify s").ok().text(),
            "s: all is well: 2 keys under 2 fingerprints\n"
        );
        assert_eq!(sandbox.run("store rebuild s").ok().text(), "s: a new filter for 2 keys\n");
        assert_eq!(sandbox.run("store range s 9.0.0.0 9.255.255.255").ok().text(), "9.0.0.1\tnine\n");
        // What is no key is said to be none, and nothing changes.
        for command in
            ["get s ant", "insert s ant six", "remove s 9.0.0.1 ant", "range s ant 9.0.0.1", "range s .. ant"]
        {
            sandbox.run(&format!("store {command}")).fails(&[
                "\"ant\" is no key",
                "--key-type ipv4",
                "192.0.2.1",
            ]);
        }
        sandbox.feed("store remove s", b"9.0.0\n").fails(&["\"9.0.0\" is no key"]);
        assert_eq!(sandbox.run("store range s .. .. --count").ok().text(), "2\n");
    }
    let plain = Sandbox::new();
    plain.run("store create p").ok();
    let stats = &plain.run("store stats --json p").ok().json()[0];
    assert_eq!((&stats["key_type"], &stats["max_range"]), (&json!(null), &json!(null)));
}

#[test]
fn a_line_whose_key_is_none_is_named_or_put_aside() {
    let sandbox = store("--key-type time", "2024-05-01\tfirst\n");
    let lines = "2024-05-02T12:00:00Z\tok\n2024-05-32\tno day\n\\x40864000000\tescaped\n";
    sandbox.write("rows.tsv", lines);
    let run = sandbox.run("store import s rows.tsv");
    let run =
        run.fails(&["rows.tsv, line 2: \"2024-05-32\" is no key", "the row before it is in", "--skip-bad"]);
    assert!(!run.err.contains("--raw"), "{}", run.err);
    let run = sandbox.run("store import s rows.tsv --skip-bad bad.tsv").ok();
    assert!(run.text().contains("2 rows imported: 1 new, 1 replaced; 1 line skipped"), "{}", run.text());
    assert_eq!(sandbox.read("bad.tsv"), b"2024-05-32\tno day\n");
    let all = "1997-05-19T00:00:00Z\tescaped\n2024-05-01T00:00:00Z\tfirst\n2024-05-02T12:00:00Z\tok\n";
    assert_eq!(sandbox.run("store export s").ok().text(), all);
    sandbox.run("store range s 2024 2025").fails(&["\"2024\" is no key", "2024-05-01T12:00:00Z"]);
}

/// Every type by its name: made, filled, asked, exported, and read back into another store.
#[test]
fn all_types_of_keys() {
    for (name, in_order) in [
        ("u64", &["0", "9", "10", "18446744073709551615"][..]),
        ("i64", &["-9223372036854775808", "-1", "5"]),
        ("u32", &["3", "4294967295"]),
        ("i32", &["-7", "7"]),
        ("u128", &["9", "340282366920938463463374607431768211455"]),
        ("f64", &["-1.5", "0", "2.25e100"]),
        ("ipv4", &["9.0.0.0", "10.0.0.0"]),
        ("ipv6", &["::1", "2001:db8::1"]),
        ("time", &["1969-12-31T23:59:59Z", "2024-05-01T12:00:00Z"]),
        ("time-ms", &["1969-12-31T23:59:59.999Z", "2024-05-01T12:00:00.250Z"]),
        ("time-ns", &["2024-05-01T12:00:00.000000001Z", "2024-05-01T12:00:00.000000002Z"]),
        (
            "bytes",
            &["", "10", "9", "ant", "anteater", "key with a long beginning 1", "key with a long beginning 2"],
        ),
        ("i16", &["-300", "300"]),
    ] {
        let rows: Vec<String> = in_order.iter().map(|key| format!("{key}\tvalue of {key}\n")).collect();
        let (forwards, backwards): (String, String) =
            (rows.concat(), rows.iter().rev().map(String::as_str).collect());
        let sandbox = store(&format!("--key-type {name}"), &backwards);
        assert_eq!(sandbox.run("store export s rows.tsv").ok().text(), "");
        assert_eq!(String::from_utf8(sandbox.read("rows.tsv")).unwrap(), forwards, "{name}");
        let made = sandbox.run(&format!("store create --json copy --ordered --key-type {name}")).ok().json();
        assert_eq!(made, [json!({ "folder": "copy", "engine": "fjall", "key_type": name, "max_range": 64 })]);
        sandbox.run("store import copy rows.tsv").ok();
        assert_eq!(sandbox.run("store export copy").ok().text(), forwards, "{name}");
        let last = in_order.len() - 1;
        let asked = ["store", "range", "copy", "--exclude-start", "--", in_order[0], in_order[last]];
        assert_eq!(sandbox.run_with(asked, b"").ok().text(), rows[1..].concat(), "{name}");
        let asked = ["store", "get", "copy", "--", in_order[last], in_order[0]];
        let values = format!("value of {}\nvalue of {}\n", in_order[last], in_order[0]);
        assert_eq!(sandbox.run_with(asked, b"").ok().text(), values, "{name}");
        sandbox.run("store verify copy").ok();
    }
}

/// All ranges of some numbers beside a map that has the same.
#[test]
fn ranges_beside_a_model() {
    let keys: BTreeMap<u32, String> =
        (0..60).map(|number| ((number * number * 7) % 257, format!("v{number}"))).collect();
    let rows: String = keys.iter().rev().map(|(key, value)| format!("{key}\t{value}\n")).collect();
    let sandbox = store("--key-type u32 --max-range 8 --error-rate 0.5", &rows);
    let expected = |range: RangeInclusive<u32>| -> String {
        keys.range(range).map(|(key, value)| format!("{key}\t{value}\n")).collect()
    };
    for (start, end) in
        [(0, 256), (0, 0), (1, 6), (8, 8), (17, 100), (250, 4_000_000_000), (256, 256), (63, 64)]
    {
        let run = sandbox.run(&format!("store range s {start} {end}"));
        let expected = expected(start..=end);
        assert_eq!(
            (run.text(), run.status.code()),
            (expected.as_str(), Some(i32::from(expected.is_empty())))
        );
    }
}

/// What was a mistake is learned, and still known when the store is opened again.
#[test]
fn an_empty_range_is_a_mistake_once() {
    let rows: String = (0..2_000u64).map(|number| format!("{}\tv\n", number * 1_000)).collect();
    let sandbox = store("--max-range 16 --error-rate 0.1", &rows);
    let open = || OrderedStore::<u64>::builder().open(sandbox.path("s")).unwrap();
    let range = |start: u64| start..=start + 15;
    let mistakes: Vec<u64> = {
        let store = open();
        let starts = (500..2_000_000).step_by(1_000);
        starts.filter(|&start| store.may_contain_range(range(start)).unwrap()).take(3).collect()
    };
    assert_eq!(mistakes.len(), 3);
    for start in &mistakes {
        sandbox.run(&format!("store range s {start} {}", start + 15)).status(1);
    }
    let store = open();
    assert!(mistakes.iter().all(|&start| !store.may_contain_range(range(start)).unwrap()));
}

#[test]
fn a_plain_store_has_no_ranges_and_the_remedy_works() {
    let sandbox = Sandbox::new();
    sandbox.run("store create legs").ok();
    sandbox.feed("store import legs", b"spider\teight\nant\tsix\n").ok();
    let run = sandbox.run("store range legs ant spider").fails(&["legs is no ordered store"]);
    let remedy = run.err.split("with: ").nth(1).unwrap().split(" (if").next().unwrap().to_owned();
    sandbox.shell(&format!("set -e; {remedy}")).ok();
    assert_eq!(sandbox.run("store range legs.ordered a b").ok().text(), "ant\tsix\n");
    assert_eq!(sandbox.run("store range legs.ordered .. ..").ok().text(), "ant\tsix\nspider\teight\n");
}

#[test]
fn bad_options_are_named_and_nothing_is_made() {
    let sandbox = Sandbox::new();
    for (options, words) in [
        ("--key-type u64", &["--ordered"][..]),
        ("--max-range 10", &["--ordered"]),
        ("--ordered --key-type u63", &["u63", "u64", "ipv4", "time"]),
        ("--ordered --max-range 0", &["--max-range", "at least 1"]),
        ("--ordered --max-range 65537", &["--max-range", "65536"]),
        ("--ordered --max-range many", &["--max-range", "whole number"]),
        ("--ordered --key-type u8 --max-range 512", &["range"]),
        ("--ordered --error-rate 0.0000000000000001", &["rate"]),
    ] {
        let run = sandbox.run(&format!("store create s {options}")).fails(words);
        assert_eq!(sandbox.names(), [""; 0], "{options}: {}", run.err);
    }
    sandbox.run("store create s --ordered --max-range 65_536 --key-type u128").ok();
    for options in ["", "--ordered", "--ordered --key-type bytes", "--engine redb"] {
        sandbox.run(&format!("store create s {options}")).fails(&["s is a store already"]);
    }
    for arguments in ["", "s", "s 1", "s 1 2 3", "s 1 2 --limit 0", "s 1 2 --limit x"] {
        sandbox.run(&format!("store range {arguments}")).status(2);
    }
    sandbox.run("store range nothing 1 2").fails(&["no store in nothing"]);
}

#[test]
fn long_strings_and_odd_bytes_are_keys() {
    for engine in ENGINES {
        let sandbox =
            store(&format!("--engine {engine} --key-type bytes"), "\\x00\tzero\n..\tdots\n-\tdash\n");
        let (longest, too_long) = ("k".repeat(65_534), "k".repeat(65_535));
        sandbox.feed("store import s", format!("{longest}\tlong\n").as_bytes()).ok();
        let run = sandbox.feed("store import s", format!("{too_long}\tlong\n").as_bytes());
        run.fails(&["line 1", "kkk\"… is no key", "65,534 bytes"]);
        assert_eq!(sandbox.run("store range s .. .. --count").ok().text(), "4\n");
        assert_eq!(sandbox.run("store range s k ..").ok().text(), format!("{longest}\tlong\n"));
        // Two dots are a bound that is not there; as a key they need an escape.
        assert_eq!(
            sandbox.run(r"store range s --escaped \x2e. ..").ok().text().lines().next(),
            Some("..\tdots")
        );
        assert_eq!(sandbox.run(r"store range s -e .. \x2d").ok().text(), "\\x00\tzero\n-\tdash\n");
        let objects = sandbox.run(r"store range s -e \x00 \x01 --json").ok().json();
        assert_eq!(objects, [json!({ "key": "\0", "value": "zero" })]);
        sandbox.run_with(["store", "range", "s", "", "-"], b"").ok();
        sandbox.run(r"store range s -e a\q b").fails(&[r"\q is no escape"]);
        sandbox.run("store verify s").ok();
    }
}

#[test]
fn whoever_has_read_enough_hears_nothing_and_a_full_disk_is_told() {
    let rows: String = (0..50_000).map(|number| format!("{number}\tvalue {number}\n")).collect();
    let sandbox = store("", &rows);
    let mut child = sandbox.start("store range s 7 ..");
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "7\tvalue 7\n");
    ended(child, "range".into()).ok();
    assert_eq!(sandbox.shell("twiceshy store range s .. .. --json | head -1").ok().json()[0]["key"], "0");
    for arguments in ["1 2", ".. ..", "1 2 --json", "1 2 --count"] {
        let run = sandbox.shell(&format!("twiceshy store range s {arguments} > /dev/full"));
        run.fails(&["cannot write to standard output", "No space left"]);
    }
    assert_eq!(sandbox.run("store range s .. ..").ok().text(), rows);
}

#[test]
fn a_store_whose_description_is_gone_is_known_by_its_rows() {
    for engine in ENGINES {
        let sandbox = store(&format!("--engine {engine} --key-type time-ms"), "2024-05-01\tmay\n");
        let good = sandbox.read("s/twiceshy-store");
        for command in ["range s .. ..", "export s"] {
            fs::remove_file(sandbox.path("s/twiceshy-store")).unwrap();
            assert_eq!(
                sandbox.run(&format!("store {command}")).ok().text(),
                "2024-05-01T00:00:00.000Z\tmay\n"
            );
            assert_eq!(sandbox.read("s/twiceshy-store"), good);
        }
        fs::remove_file(sandbox.path("s/twiceshy-store")).unwrap();
        sandbox.feed("store import s", b"2024-05-02\tmay\n").ok();
        assert_eq!(sandbox.run("store range s .. .. --count").ok().text(), "2\n");
    }
}

/// Stores of other programs are known by their types, or said not to be.
#[test]
fn stores_of_other_programs() {
    let sandbox = Sandbox::new();
    let numbers = OrderedStore::<u16>::builder().open(sandbox.path("numbers")).unwrap();
    numbers.insert(&700, "seven hundred").unwrap();
    numbers.close().unwrap();
    assert_eq!(sandbox.run("store range numbers 0 65535").ok().text(), "700\tseven hundred\n");
    sandbox.feed("store import numbers", b"65536\tx\n").fails(&["is no key", "from 0 to 65535"]);
    let description = sandbox.path("numbers/twiceshy-store");
    let text = fs::read_to_string(&description).unwrap();
    fs::write(&description, text.replace("keys 1 16", "keys 200 16")).unwrap();
    for command in
        ["range numbers 0 5", "get numbers 0", "import numbers", "verify numbers", "export numbers"]
    {
        let run = sandbox.run(&format!("store {command}"));
        run.fails(&[
            "the keys of numbers are another one (type 200), of 16 bits",
            "the one that made the store",
        ]);
    }
    fs::write(&description, text.replace("keys 1 16\n", "")).unwrap();
    sandbox.run("store range numbers 0 5").fails(&["numbers", "damaged", "does not say what keys are"]);
    fs::write(&description, text.replace("keys 1 16", "keys 2 16")).unwrap();
    sandbox.run("store range numbers 0 5").fails(&["numbers", "have another type"]);
}

#[test]
fn verify_finds_a_filter_that_does_not_know_the_keys_and_rebuild_mends_it() {
    for engine in ENGINES {
        let sandbox = store(&format!("--engine {engine}"), "5\tfive\n500\tmore\n");
        let path = sandbox.path("s/filter.snapshot");
        let bytes = fs::read(&path).unwrap();
        // docs/format.md: 64 bytes, which have a checksum of their own, then a filter.
        let filter = AdaptiveRangeFilter::<u64>::from_bytes(&bytes[64..]).unwrap();
        assert!(filter.contains(&5) && filter.contains_range(400..=500));
        fs::write(&path, [&bytes[..64], &filter.empty_like().unwrap().to_bytes()].concat()).unwrap();
        sandbox.run("store verify s").fails(&["filter and rows disagree", "twiceshy store rebuild s"]);
        sandbox.run("store rebuild s").ok();
        sandbox.run("store verify s").ok();
        assert_eq!(sandbox.run("store range s 5 500").ok().text(), "5\tfive\n500\tmore\n");
    }
}
