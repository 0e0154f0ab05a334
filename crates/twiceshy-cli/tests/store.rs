//! `twiceshy store`, end to end.

mod common;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

use common::{Run, Sandbox, ended, ended_while_open, signal};
use serde_json::json;
use twiceshy::AdaptiveFilter;

const ENGINES: [&str; 2] = ["fjall", "redb"];
/// What stores are made with: all of them do the same with keys that are bytes.
const STORES: [&str; 3] = ["--engine fjall", "--engine redb", "--engine fjall --ordered --key-type bytes"];

fn engine_of(options: &str) -> &str {
    options.split(' ').nth(1).unwrap()
}

/// A sandbox with a store of two animals.
fn legs(options: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let made = sandbox.run(&format!("store create legs {options}")).ok();
    let said =
        if options.contains("--ordered") { "legs: a new ordered store on " } else { "legs: a new store on " };
    assert!(made.text().starts_with(&format!("{said}{}", engine_of(options))), "{}", made.text());
    sandbox.feed("store import legs", b"ant\tsix\nspider\teight\n").ok();
    sandbox
}

/// Rows with numbers.
fn rows(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|number| format!("key {number}\tvalue {number}\n")).collect()
}

/// Expects that the store has these rows and no others, and that it is well.
#[track_caller]
fn holds(sandbox: &Sandbox, store: &str, rows: &str) {
    let verified = sandbox.run(&format!("store verify --json {store}")).status(0).json();
    assert_eq!((&verified[0]["ok"], &verified[0]["keys"]), (&true.into(), &rows.lines().count().into()));
    let exported = sandbox.run(&format!("store export {store}")).ok();
    let (exported, expected): (BTreeSet<_>, BTreeSet<_>) =
        (exported.text().lines().collect(), rows.lines().collect());
    assert!(exported == expected, "{} rows, {} expected", exported.len(), expected.len());
}

#[test]
fn rows_come_and_go() {
    for options in STORES {
        let sandbox = legs(options);
        assert_eq!(sandbox.run("store get legs spider ant").ok().text(), "eight\nsix\n");
        assert_eq!(sandbox.run("store get legs ant bee spider").status(1).text(), "six\neight\n");
        assert_eq!(sandbox.run("store get --with-key legs ant bee").status(1).text(), "ant\tsix\n");
        assert_eq!(sandbox.run("store get legs bee").status(1).text(), "");
        assert_eq!(sandbox.run("store insert legs bee -6").ok().text(), "");
        assert_eq!(
            sandbox.run("store insert legs bee 6 --json").ok().json(),
            [json!({ "key": "bee", "new": false })]
        );
        assert_eq!(
            sandbox.run("store insert legs cow 4 --json").ok().json(),
            [json!({ "key": "cow", "new": true })]
        );
        assert_eq!(sandbox.run("store get legs bee").ok().text(), "6\n");
        let gone = sandbox.run("store remove --json legs ant pig bee").status(1).json();
        assert_eq!(gone, [json!({ "removed": 2, "missing": 1 })]);
        assert_eq!(sandbox.run("store remove legs cow").ok().text(), "");
        assert_eq!(sandbox.run("store remove legs cow").status(1).err, "twiceshy: not there: 1 of 1 key\n");
        sandbox.run("store insert legs cow 4").ok();
        let run = sandbox.run("store remove legs cow pig hen").status(1);
        assert_eq!(run.err, "twiceshy: not there: 2 of 3 keys\n");
        holds(&sandbox, "legs", "spider\teight\n");
        let found = sandbox.run("store get --json legs spider ant").status(1).json();
        assert_eq!(found[0], json!({ "found": true, "key": "spider", "value": "eight" }));
        assert_eq!(found[1], json!({ "found": false, "key": "ant" }));
    }
}

/// The objects that docs/cli.md shows are those that are printed.
#[test]
fn json_is_as_documented() {
    let documentation = include_str!("../../../docs/cli.md");
    let sandbox = Sandbox::new();
    sandbox.run("store create legs").ok();
    for (command, input) in [
        ("import legs", "ant\tsix\nbee\tsix\n"),
        ("verify legs", ""),
        ("rebuild legs", ""),
        ("get legs ant", ""),
        ("remove legs ant", ""),
        ("insert legs ant six", ""),
    ] {
        let run = sandbox.feed(&format!("store {command} --json"), input.as_bytes()).ok();
        let example = format!("`{}`", run.text().trim_end());
        assert!(documentation.contains(&example), "{command}: {example}");
    }
}

#[test]
fn every_byte_goes_in_and_comes_out() {
    let all: Vec<u8> = (0..=255).collect();
    for options in STORES {
        let (sandbox, engine) = (legs(options), engine_of(options));
        sandbox.write("all", &all);
        let key = |bytes: &'static [u8]| OsStr::from_bytes(bytes);
        let store = |command: &'static str| ["store", command, "legs"].map(OsStr::new);
        // As they are, with escapes, from a file, and empty.
        let odd = key(b"\xff\\n");
        sandbox.run_with(store("insert").iter().chain(&[odd, key(b"\xfe\\t")]), b"").ok();
        let escaped = [key(b"--escaped"), key(br"\xff\n"), key(br"a\tb\\\x00")];
        sandbox.run_with(store("insert").iter().chain(&escaped), b"").ok();
        sandbox.run_with(store("insert").iter().chain(&[key(b""), key(b"")]), b"").ok();
        sandbox.run("store insert legs --from all file").ok();
        sandbox.feed("store insert legs --from - stdin", &all).ok();
        let get = |arguments: &[&OsStr]| sandbox.run_with(store("get").iter().chain(arguments), b"").ok().out;
        assert_eq!(get(&[odd, key(b"")]), b"\\xfe\\\\t\n\n");
        assert_eq!(get(&[key(b"--with-key"), odd, key(b"")]), b"\\xff\\\\n\t\\xfe\\\\t\n\t\n");
        assert_eq!(get(&[key(b"--raw"), odd]), b"\xfe\\t");
        assert_eq!(get(&[key(b"-e"), key(br"\xff\x0a")]), b"a\\tb\\\\\\x00\n");
        assert_eq!(get(&[key(b"--raw"), key(b"file")]), all);
        assert_eq!(get(&[key(b"--raw"), key(b"stdin")]), all);
        let object = sandbox.run_with(store("get").iter().chain(&[key(b"--json"), odd]), b"").ok().json();
        assert_eq!(object[0], json!({ "found": true, "key_hex": "ff5c6e", "value_hex": "fe5c74" }));
        sandbox.run("store get legs --raw ant spider").fails(&["--raw", "one"]);
        sandbox.run(r"store get legs --escaped a\q").fails(&[r"a\q", r"\q is no escape"]);
        sandbox.run("store insert legs ant").fails(&["VALUE"]);
        // And through a file into a store on the other engine.
        sandbox.run("store export legs rows.tsv").ok();
        sandbox
            .run(&format!("store create other --engine {}", if engine == "redb" { "fjall" } else { "redb" }))
            .ok();
        let done = sandbox.run("store import --json other rows.tsv").ok().json();
        assert_eq!(done, [json!({ "rows": 7, "new": 7, "replaced": 0, "skipped": 0, "keys": 7 })]);
        holds(&sandbox, "other", std::str::from_utf8(&sandbox.read("rows.tsv")).unwrap());
        sandbox.run_with(["store", "remove", "other", "", "file"], b"").ok();
        sandbox.run_with(["store", "get", "other", ""], b"").status(1);
    }
}

#[test]
fn lines_may_end_in_any_way() {
    let sandbox = legs(STORES[0]);
    sandbox.write("rows", b"\r\n\nbee\tsix\r\nant\t\n\n\tno key\ncow\t4\t5 \r\n\\x41\t\\r\r\nlast\tline");
    let done = sandbox.run("store import legs rows").ok();
    assert_eq!(done.text(), "6 rows imported: 5 new, 1 replaced; the store has 7 keys\n");
    let expected = "bee\tsix\nant\t\n\tno key\ncow\t4\\t5 \nA\t\\r\nlast\tline\nspider\teight\n";
    holds(&sandbox, "legs", expected);
    // The last value of a key counts, also within a batch.
    let done = sandbox.feed("store import --json legs -", b"ant\t1\nant\t2\nbee\t6\nant\t3\n").ok().json();
    assert_eq!(done, [json!({ "rows": 4, "new": 0, "replaced": 4, "skipped": 0, "keys": 7 })]);
    assert_eq!(sandbox.run("store get legs ant").ok().text(), "3\n");
    sandbox.feed("store import legs --raw", b"raw\ta\\q\\n\n").ok();
    assert_eq!(sandbox.run("store get legs --raw raw").ok().text(), "a\\q\\n");
}

#[test]
fn a_wrong_line_is_named_and_those_before_it_are_in() {
    let sandbox = legs(STORES[0]);
    let before = rows(0..10_000);
    for (line, what) in
        [("no tab", "no tab"), ("a\tb\\q", r"\q is no escape"), ("a\\x4\tb", r"\x4 is no escape")]
    {
        sandbox.write("bad.tsv", format!("\n{before}\r\n{line}\nlater\trow\n"));
        let run = sandbox.run("store import legs bad.tsv");
        let run = run.fails(&[
            "bad.tsv, line 10003: ",
            what,
            "the 10,000 rows before it are in",
            "mend the line",
            "--skip-bad",
        ]);
        assert!(!run.err.contains("import the same again"), "{}", run.err);
        assert_eq!(run.err.contains("--raw"), what.contains("escape"), "{}", run.err);
        holds(&sandbox, "legs", &format!("ant\tsix\nspider\teight\n{before}"));
    }
    let raw = "give --raw to take all backslashes as they are";
    sandbox.feed("store import legs", b"a\tb\nc\\q\td\n").fails(&[r"\q is no escape", raw]);
    // An escape was read as one, here or in a batch before: --raw would store that row under another key.
    for between in [String::new(), rows(0..10_000)] {
        let text = format!("a\\\\b\tc\n{between}c\\q\td\n");
        let run = sandbox.feed("store import legs", text.as_bytes());
        let run = run.fails(&[r"\q is no escape", "with --raw into a new store"]);
        assert!(!run.err.contains(raw), "{}", run.err);
    }
    sandbox.feed("store import legs", b"no tab").fails(&["standard input, line 1", "no row came before it"]);
    sandbox.feed("store import legs", b"a\tb\nno tab").fails(&["line 2", "the row before it is in"]);
    for (path, words) in [("nothing-here", "cannot open nothing-here: No such file"), (".", ". is a folder")]
    {
        let run = sandbox.run(&format!("store import legs {path}")).fails(&[words]);
        assert!(!run.err.contains("import the same again"), "{}", run.err);
    }
}

#[test]
fn bad_lines_are_put_aside_if_that_is_asked_for() {
    for options in STORES {
        let sandbox = legs(options);
        let good = rows(0..10_000);
        // More than a batch of them in one place, some between rows, and one at the end without an end.
        let nonsense: String = (0..9_000).map(|number| format!("nonsense {number}\n")).collect();
        sandbox.write("rows.tsv", format!("a\\q\t1\r\n{nonsense}{good}\x7f\n\nlast"));
        let run = sandbox.run("store import legs rows.tsv --skip-bad bad.tsv").ok();
        let said = "10,000 rows imported: 10,000 new, 0 replaced; 9,003 lines skipped, which bad.tsv holds; the store has \
                    10,002 keys\n";
        assert_eq!(run.text(), said);
        assert_eq!(sandbox.read("bad.tsv"), format!("a\\q\t1\n{nonsense}\x7f\nlast\n").as_bytes());
        holds(&sandbox, "legs", &format!("ant\tsix\nspider\teight\n{good}"));

        // No file is replaced, and none is made for nothing.
        sandbox
            .run("store import legs rows.tsv --skip-bad bad.tsv")
            .fails(&["bad.tsv exists already", "give another name"]);
        sandbox.run("store import legs rows.tsv --skip-bad missing/bad").fails(&["missing"]);
        let done = sandbox.run("store import --json --raw legs rows.tsv --skip-bad worse.tsv").ok().json();
        assert_eq!(
            done,
            [json!({ "rows": 10_001, "new": 1, "replaced": 10_000, "skipped": 9_002, "keys": 10_003 })]
        );
        sandbox.feed("store import legs --skip-bad none.tsv", b"ant\tsix\n").ok();
        // Nor is one made of an import that did not end.
        let limited = "trap '' XFSZ; ulimit -f 1; twiceshy store import legs rows.tsv --skip-bad most.tsv";
        sandbox.shell(limited).status(2);
        assert_eq!(sandbox.names(), ["bad.tsv", "legs", "rows.tsv", "worse.tsv"]);
    }
}

#[test]
fn keys_come_from_files_and_from_standard_input() {
    for options in STORES {
        let sandbox = legs(options);
        let many = rows(0..9_000);
        sandbox.feed("store import legs", many.as_bytes()).ok();
        let keys = common::numbers(10_000);
        let (values, with_keys): (String, String) =
            ((0..9_000).map(|number| format!("value {number}\n")).collect(), many.clone());
        assert_eq!(sandbox.feed("store get legs", &keys).status(1).text(), values);
        assert_eq!(sandbox.feed("store get legs --with-key", &keys).status(1).text(), with_keys);
        sandbox.write("keys", &keys);
        sandbox.write("more", "\r\nant\r\n\nspider");
        assert_eq!(
            sandbox.run("store get legs --from more --from keys").status(1).text(),
            format!("six\neight\n{values}")
        );
        assert_eq!(
            sandbox.feed("store get legs --from - --from more", b"spider\n").ok().text(),
            "eight\nsix\neight\n"
        );
        let found = sandbox.feed("store get legs --json", b"ant\nbee\n").status(1).json();
        let expected =
            [json!({ "found": true, "key": "ant", "value": "six" }), json!({ "found": false, "key": "bee" })];
        assert_eq!(found, expected);
        assert_eq!(sandbox.feed("store get legs --escaped", b"\\x61nt\n").ok().text(), "six\n");
        assert_eq!(sandbox.feed("store get legs --raw", b"ant\n").ok().text(), "six");
        sandbox.feed("store get legs --raw", b"ant\nspider\n").fails(&["--raw", "one key"]);
        sandbox.run("store get legs --from keys ant").fails(&["--from"]);
        sandbox.run("store get legs --from missing").fails(&["cannot open missing"]);
        assert_eq!(sandbox.run("store get legs").ok().text(), "", "no keys, all of them are there");
        // A key like any other, but perhaps not meant as one.
        for command in ["get", "remove"] {
            let run = sandbox.feed(&format!("store {command} legs -"), b"ant\n").status(1);
            assert!(run.err.contains("note: - is taken as a key"), "{}", run.err);
            let run = sandbox.feed(&format!("store {command} legs - --"), b"").status(1);
            assert!(run.err.contains("leave it out"), "{}", run.err);
            let run = sandbox.run(&format!("store {command} legs - bee")).status(1);
            assert!(!run.err.contains("note"), "{}", run.err);
        }

        let gone = sandbox.feed("store remove legs --json", &keys).status(1).json();
        assert_eq!(gone, [json!({ "removed": 9_000, "missing": 1_000 })]);
        sandbox.feed("store remove legs -e", b"ant\n").ok();
        let run = sandbox.feed("store remove legs -e --from more --from -", b"\\q\n").status(2);
        assert!(
            run.err.contains(r"\q is no escape") && run.err.contains("1 key removed before that"),
            "{}",
            run.err
        );
        holds(&sandbox, "legs", "");
    }
}

#[test]
fn stores_are_made_where_nothing_is() {
    let sandbox = legs(STORES[0]);
    for engine in ENGINES {
        sandbox.run(&format!("store create legs --engine {engine}")).fails(&["legs is a store already"]);
    }
    holds(&sandbox, "legs", "ant\tsix\nspider\teight\n");
    fs::create_dir(sandbox.path("full")).unwrap();
    sandbox.write("full/file", "something");
    for command in ["create full", "get full ant", "stats full", "verify full"] {
        sandbox.run(&format!("store {command}")).fails(&["full is no store", "give another folder"]);
    }
    for command in ["create full/file", "get full/file ant"] {
        sandbox
            .run(&format!("store {command}"))
            .fails(&["full/file is a file, not the folder of a store: give a folder"]);
    }
    sandbox.run("store create full/file/below").fails(&["full/file/below"]);
    sandbox.run("store create /proc/below").fails(&["/proc/below"]);
    sandbox.run("store create new --engine bdb").fails(&["bdb", "fjall and redb"]);
    sandbox.run("store create new --error-rate 7").fails(&["--error-rate"]);
    assert_eq!(sandbox.names(), ["full", "legs"]);
    // An empty folder will do, and folders on the way are made.
    fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.run("store create empty").ok();
    let made = sandbox.run("store create --json new/one --error-rate 0.25").ok().json();
    assert_eq!(made, [json!({ "folder": "new/one", "engine": "fjall" })]);
    let stats = sandbox.run("store stats --json new/one empty").fails(&["empty"]);
    drop(stats);
    let rate = |store: &str| {
        sandbox.run(&format!("store stats --json {store}")).ok().json()[0]["highest_error_rate"]
            .as_f64()
            .unwrap()
    };
    assert!(rate("empty") <= 0.001 && rate("new/one") > 0.01 && rate("new/one") <= 0.25);
    assert_eq!(fs::metadata(sandbox.path("new/one")).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn a_store_that_cannot_be_made_leaves_nothing() {
    for options in STORES {
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.path("empty")).unwrap();
        let mut failures = 0;
        // The least that is enough is found by trying: so it fails at every file that it writes.
        'limits: for blocks in [0, 1, 2, 4, 16, 64, 256, 1_024, 4_096] {
            for folder in ["empty", "new/one"] {
                let create = format!("store create {options} {folder}");
                let run = sandbox.shell(&format!("trap '' XFSZ; ulimit -f {blocks}; twiceshy {create}"));
                if run.status.success() {
                    break 'limits;
                }
                failures += 1;
                assert!(run.err.contains("the disk is full") || run.err.contains("too large"), "{}", run.err);
                assert_eq!(sandbox.names(), ["empty"], "{}", run.err);
                assert_eq!(fs::read_dir(sandbox.path("empty")).unwrap().count(), 0, "{}", run.err);
                sandbox.run(&create).ok();
                holds(&sandbox, folder, "");
                fs::remove_dir_all(sandbox.path(folder.split('/').next().unwrap())).unwrap();
                fs::create_dir_all(sandbox.path("empty")).unwrap();
            }
        }
        assert!(failures >= 4, "{options}: {failures}");
    }
}

#[test]
fn a_store_that_was_half_made_is_said_to_be_so() {
    let files = ["rows.fjall/version", "rows.redb", "rows.fjall/version"];
    for (options, file) in STORES.into_iter().zip(files) {
        let sandbox = legs(options);
        fs::remove_file(sandbox.path("legs/twiceshy-store")).unwrap();
        sandbox.write(&format!("legs/{file}"), "half");
        let create = format!("store create legs {options}");
        let run = sandbox.run(&create).fails(&["legs is no complete store", "remove the folder"]);
        assert!(!run.err.contains("legs: "), "the folder is named once: {}", run.err);
        // It may be more than that: nothing is removed.
        assert_eq!(sandbox.read(&format!("legs/{file}")), b"half");
        fs::remove_dir_all(sandbox.path("legs")).unwrap();
        sandbox.run(&create).ok();
    }
}

#[test]
fn a_store_that_is_not_there_is_named_with_the_remedy() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("empty")).unwrap();
    for folder in ["missing", "empty"] {
        for command in [
            "import F",
            "insert F a b",
            "get F a",
            "range F a b",
            "remove F a",
            "stats F",
            "verify F",
            "rebuild F",
            "export F",
        ] {
            let run = sandbox.run(&format!("store {}", command.replace('F', folder)));
            run.fails(&[&format!("no store in {folder}"), &format!("twiceshy store create {folder}")]);
        }
    }
    assert_eq!(sandbox.names(), ["empty"]);
    assert_eq!(fs::read_dir(sandbox.path("empty")).unwrap().count(), 0);
}

#[test]
fn stats_say_what_there_is() {
    for options in STORES {
        let (sandbox, engine) = (legs(options), engine_of(options));
        sandbox.feed("store import legs", rows(0..5_000).as_bytes()).ok();
        let stats = &sandbox.run("store stats --json legs").ok().json()[0];
        assert_eq!((&stats["engine"], &stats["keys"]), (&engine.into(), &5_002.into()));
        assert!(stats["disk_bytes"].as_u64().unwrap() > 50_000, "{stats}");
        assert!(stats["filter_bits_per_key"].as_f64().unwrap() > 8.0, "{stats}");
        assert!(stats["expected_error_rate"].as_f64().unwrap() < 0.001, "{stats}");
        let words = sandbox.run("store stats legs").ok();
        for word in [engine, "5,002", "bits per key", "expected error rate", "clean"] {
            assert!(words.text().contains(word), "{word} in {}", words.text());
        }
        assert_eq!(
            sandbox.run("store verify legs").ok().text().split(" keys").next(),
            Some("legs: all is well: 5,002")
        );
        assert_eq!(sandbox.run("store rebuild legs").ok().text(), "legs: a new filter for 5,002 keys\n");
        assert_eq!(sandbox.run("store rebuild --json legs").ok().json(), [json!({ "keys": 5_002 })]);
    }
}

/// Starts an import and feeds it rows, of which nearly all have arrived when this returns. More can come.
fn half_imported(sandbox: &Sandbox, rows: &str) -> Child {
    let mut child = sandbox.start("store import legs -");
    child.stdin.as_mut().unwrap().write_all(rows.as_bytes()).unwrap();
    child
}

/// Expects that an import that did not end can be done again.
#[track_caller]
fn can_be_imported_again(sandbox: &Sandbox, rows: &str) {
    sandbox.run("store verify legs").status(0);
    sandbox.feed("store import legs", rows.as_bytes()).status(0);
    holds(sandbox, "legs", &format!("ant\tsix\nspider\teight\n{rows}"));
}

#[test]
fn an_interrupted_import_says_how_far_it_came_and_can_be_repeated() {
    for (options, name) in STORES.into_iter().zip(["INT", "TERM", "HUP"]) {
        let sandbox = legs(options);
        let rows = rows(0..50_000);
        let child = half_imported(&sandbox, &rows);
        signal(&child, name);
        // It does not wait for the next line.
        let run = ended_while_open(child, "import").status(130);
        assert_eq!(run.text(), "");
        let said = run.err.strip_prefix("twiceshy: interrupted; ").unwrap();
        let (number, rest) = said.split_once(" rows imported before that").unwrap();
        assert!(rest.contains("import the same again"), "{said}");
        let number: u64 = number.replace(',', "").parse().unwrap();
        assert!((10_000..=50_000).contains(&number), "{number}");
        assert_eq!(sandbox.run("store stats --json legs").ok().json()[0]["keys"], number + 2);
        can_be_imported_again(&sandbox, &rows);
    }
}

#[test]
fn an_import_that_is_to_go_on_goes_on() {
    let sandbox = legs(STORES[0]);
    let mut command = sandbox.command("sh");
    command
        .args(["-c", "trap '' HUP; exec \"$TWICESHY\" store import legs -"])
        .env("TWICESHY", common::PROGRAM);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(rows(0..20_000).as_bytes()).unwrap();
    signal(&child, "HUP");
    child.stdin.as_mut().unwrap().write_all(rows(20_000..30_000).as_bytes()).unwrap();
    let run = ended(child, "import".into()).ok();
    assert_eq!(run.text(), "30,000 rows imported: 30,000 new, 0 replaced; the store has 30,002 keys\n");
}

#[test]
fn a_killed_import_can_be_repeated() {
    for options in STORES {
        let sandbox = legs(options);
        let rows = rows(0..50_000);
        let child = half_imported(&sandbox, &rows);
        signal(&child, "KILL");
        assert_eq!(ended_while_open(child, "import").status.signal(), Some(9));
        can_be_imported_again(&sandbox, &rows);
    }
}

#[test]
fn a_store_is_open_once() {
    for options in STORES {
        let sandbox = legs(options);
        let child = half_imported(&sandbox, &rows(0..20_000));
        sandbox.run("store get legs ant").fails(&["legs is open in another program", "wait"]);
        sandbox.run("store create legs").fails(&["legs"]);
        // Its input ends here.
        ended(child, "import".into()).status(0);
        assert_eq!(sandbox.run("store get legs ant").ok().text(), "six\n");
    }
}

#[test]
fn an_export_is_complete_or_not_there() {
    let sandbox = legs(STORES[1]);
    let all = rows(0..20_000);
    sandbox.feed("store import legs", all.as_bytes()).ok();
    sandbox.run("store export legs rows.tsv").ok();
    assert_eq!(sandbox.read("rows.tsv").len(), all.len() + "ant\tsix\nspider\teight\n".len());
    let limited = "trap '' XFSZ; ulimit -f 100; twiceshy store export legs new.tsv";
    sandbox.shell(limited).fails(&["cannot write new.tsv", "File too large"]);
    assert_eq!(sandbox.names(), ["legs", "rows.tsv"]);
    sandbox.run("store export legs rows.tsv/below").fails(&["rows.tsv is a file"]);
    sandbox.run("store export legs missing/rows.tsv").fails(&["missing"]);
    sandbox.pipe("pipe");
    sandbox.run("store export legs pipe").fails(&["not a regular file"]);
    // No file is replaced, whatever it looks like.
    for old in ["ant\tsix\n", "ant\nbee\n", ""] {
        sandbox.write("old.tsv", old);
        sandbox
            .run("store export legs old.tsv")
            .fails(&["old.tsv exists already: give another name, or remove old.tsv first"]);
        assert_eq!(sandbox.read("old.tsv"), old.as_bytes());
    }
    sandbox.run("store export legs old.tsv --force").fails(&["--force"]);
    let run = sandbox.shell("twiceshy store export legs > /dev/full");
    run.fails(&["cannot write to standard output", "No space left"]);
    let changes = [
        "insert --json legs bat two",
        "remove --json legs bat",
        "rebuild legs",
        "create more",
        "import legs rows.tsv",
    ];
    for command in changes {
        sandbox
            .shell(&format!("twiceshy store {command} > /dev/full"))
            .fails(&["it is done, but nobody could be told", "cannot write to standard output"]);
    }
    sandbox.run("store verify more").ok();
    for command in ["get legs spider", "stats legs", "verify legs", "verify --json legs"] {
        sandbox
            .shell(&format!("twiceshy store {command} > /dev/full"))
            .fails(&["cannot write to standard output"]);
    }
}

#[test]
fn an_interrupted_export_leaves_nothing() {
    let sandbox = legs(STORES[0]);
    sandbox.feed("store import legs", rows(0..50_000).as_bytes()).ok();
    let is_writing = |sandbox: &Sandbox| sandbox.names().iter().any(|name| name.starts_with(".twiceshy-"));
    let mut was_interrupted = false;
    for _ in 0..20 {
        let child = sandbox.start("store export legs new.tsv");
        let is_done = || sandbox.path("new.tsv").exists();
        common::wait_until("writing, or the end", || is_writing(&sandbox) || is_done());
        signal(&child, "INT");
        let run = ended(child, "export".into());
        if run.status.code() == Some(130) {
            assert_eq!(run.err, "twiceshy: interrupted\n");
            assert_eq!(sandbox.names(), ["legs"]);
            was_interrupted = true;
            break;
        }
        fs::remove_file(sandbox.path("new.tsv")).unwrap();
    }
    assert!(was_interrupted, "twenty times it was faster than Ctrl-C");
}

#[test]
fn whoever_has_read_enough_hears_nothing() {
    let sandbox = legs(STORES[0]);
    sandbox.feed("store import legs", rows(0..50_000).as_bytes()).ok();
    let mut child = sandbox.start("store export legs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains('\t'), "{line}");
    ended(child, "export".into()).ok();
    assert_eq!(sandbox.shell("twiceshy store export legs | head -1").ok().text(), line);
}

#[test]
fn without_space_an_import_says_so_and_can_be_repeated() {
    for options in STORES {
        let sandbox = legs(options);
        let rows: String = (0..20_000).map(|number| format!("{number}\t{}\n", "x".repeat(200))).collect();
        sandbox.write("rows.tsv", &rows);
        let limited = "trap '' XFSZ; ulimit -f 2000; twiceshy store import legs rows.tsv";
        let run: Run = sandbox.shell(limited).status(2);
        assert!(
            run.err.contains("the disk is full") && run.err.contains("import the same again"),
            "{}",
            run.err
        );
        can_be_imported_again(&sandbox, &rows);
    }
}

#[test]
fn long_keys_and_values() {
    let sandbox = legs(STORES[0]);
    let (key, value) = ("k".repeat(10 << 20), "v".repeat(10 << 20));
    sandbox.write("rows.tsv", format!("{key}\tshort\nshort\t{value}\r\n{key}2\t{value}2"));
    sandbox.run("store import legs rows.tsv").ok();
    assert_eq!(sandbox.run("store get legs short").ok().text(), format!("{value}\n"));
    holds(
        &sandbox,
        "legs",
        &format!("ant\tsix\nspider\teight\n{key}\tshort\nshort\t{value}\n{key}2\t{value}2\n"),
    );
}

#[test]
fn a_lost_or_damaged_snapshot_is_made_anew_and_that_is_said() {
    for options in STORES {
        let sandbox = legs(options);
        let snapshot = sandbox.path("legs/filter.snapshot");
        let good = fs::read(&snapshot).unwrap();
        let mut flipped = good.clone();
        flipped[100] ^= 1;
        for bad in [Some(&flipped[..]), Some(&good[..40]), Some(&[]), None] {
            match bad {
                Some(bytes) => fs::write(&snapshot, bytes).unwrap(),
                None => fs::remove_file(&snapshot).unwrap(),
            }
            let run = sandbox.run("store get legs ant bee").status(1);
            assert_eq!(run.text(), "six\n");
            assert!(run.err.starts_with("twiceshy: note: the filter was built anew"), "{}", run.err);
            // Once.
            assert_eq!(
                sandbox.run("store verify legs").ok().text(),
                "legs: all is well: 2 keys under 2 fingerprints\n"
            );
        }
    }
}

#[test]
fn a_change_is_done_even_if_the_filter_cannot_be_saved() {
    for options in STORES {
        let sandbox = legs(options);
        // Where the snapshot would be written.
        let in_the_way = sandbox.path("legs/filter.snapshot.unfinished");
        fs::create_dir(&in_the_way).unwrap();
        for command in ["remove legs ant", "insert legs bee six"] {
            sandbox.run(&format!("store {command}")).fails(&[
                "cannot write legs/filter.snapshot",
                "the change itself is done",
                "mend the cause",
            ]);
        }
        sandbox.feed("store import legs", b"cow\tfour\n").fails(&["the change itself is done"]);
        let run = sandbox.run("store rebuild legs").fails(&["cannot write legs/filter.snapshot"]);
        assert!(!run.err.contains("is done"), "{}", run.err);
        fs::remove_dir(&in_the_way).unwrap();
        holds(&sandbox, "legs", "bee\tsix\ncow\tfour\nspider\teight\n");
        assert_eq!(sandbox.run("store stats --json legs").ok().json()[0]["recovery"], "clean");
    }
}

#[test]
fn without_space_removing_counts_only_what_is_gone() {
    let sandbox = Sandbox::new();
    sandbox.write("keys", common::numbers(20_000));
    let mut failures = 0;
    for quarters in 6..=12 {
        let _ = fs::remove_dir_all(sandbox.path("legs"));
        sandbox.run("store create legs --engine redb").ok();
        sandbox.feed("store import legs", rows(0..20_000).as_bytes()).ok();
        // The file may grow, but not by all that removing takes for a while.
        let blocks = fs::metadata(sandbox.path("legs/rows.redb")).unwrap().len() / 512 * quarters / 4;
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; twiceshy store remove legs --from keys");
        let run = sandbox.shell(&limited);
        let said = run.err.split_once("at least ").and_then(|(_, rest)| rest.split_once(" keys removed"));
        let Some((said, _)) = said else { continue };
        failures += 1;
        let said: usize = said.replace(',', "").parse().unwrap();
        let left = sandbox.run("store export legs").ok().text().lines().count();
        assert!(said <= 20_000 - left, "{left} are left: {}", run.err);
        sandbox.run("store verify legs").ok();
    }
    assert!(failures > 0, "no removal stopped half way");
}

#[test]
fn damaged_stores_are_refused() {
    for options in STORES {
        let (sandbox, engine) = (legs(options), engine_of(options));
        let description = sandbox.path("legs/twiceshy-store");
        let good = fs::read_to_string(&description).unwrap();
        for (bad, words) in [
            ("".into(), "damaged"),
            ("something else\n".into(), "damaged"),
            (good.replace("format 2", "format 3"), "format version 3"),
            (good.replace(engine, "bdb"), "the engine bdb"),
            (good.replace("id ", "id 7"), "damaged"),
        ] {
            fs::write(&description, &bad).unwrap();
            for command in ["get legs ant", "verify legs", "rebuild legs", "import legs"] {
                sandbox.run(&format!("store {command}")).fails(&["legs", words]);
            }
            assert_eq!(fs::read_to_string(&description).unwrap(), bad);
        }
        fs::write(&description, &good).unwrap();
        assert_eq!(sandbox.run("store get legs ant").ok().text(), "six\n");
        let rows = sandbox.path(&format!("legs/rows.{engine}"));
        if engine == "redb" {
            let mut bytes = fs::read(&rows).unwrap();
            bytes.truncate(bytes.len() / 2);
            fs::write(&rows, &bytes).unwrap();
            sandbox.run("store verify legs").fails(&["legs"]);
            fs::remove_file(&rows).unwrap();
        } else {
            fs::remove_dir_all(&rows).unwrap();
        }
        sandbox.run("store verify legs").fails(&["legs", "damaged", "rows that it had are gone"]);
    }
}

#[test]
fn verify_finds_a_filter_that_does_not_know_the_keys_and_rebuild_mends_it() {
    for engine in ENGINES {
        let sandbox = legs(&format!("--engine {engine}"));
        let path = sandbox.path("legs/filter.snapshot");
        let bytes = fs::read(&path).unwrap();
        // docs/format.md: 64 bytes, which have a checksum of their own, then a filter.
        let filter = AdaptiveFilter::from_bytes(&bytes[64..]).unwrap();
        assert!(filter.contains("ant"));
        fs::write(&path, [&bytes[..64], &filter.empty_like().unwrap().to_bytes()].concat()).unwrap();
        sandbox.run("store verify legs").fails(&["filter and rows disagree", "twiceshy store rebuild legs"]);
        let run = sandbox.run("store verify --json legs").status(2);
        assert_eq!(run.json()[0]["ok"], false);
        assert!(run.json()[0]["cause"].as_str().unwrap().contains("does not know key"));
        sandbox.run("store rebuild legs").ok();
        sandbox.run("store verify legs").ok();
        assert_eq!(sandbox.run("store get legs ant spider").ok().text(), "six\neight\n");
    }
}
