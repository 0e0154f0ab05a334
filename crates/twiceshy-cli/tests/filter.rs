//! `twiceshy filter`, end to end.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::Duration;

use common::{Sandbox, ended_while_open, numbers, signal};

const KINDS: [&str; 2] = ["expandable", "quotient"];

/// A sandbox with the filter `f.tw` of some animals.
fn animals(kind: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.feed(&format!("filter build --kind {kind} --error-rate 0.000001 f.tw"), b"ant\nbee\n").ok();
    sandbox
}

#[test]
fn answers_come_in_order_and_no_key_is_missing() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        // More than are worked on at a time.
        sandbox.write("keys", numbers(20_000));
        sandbox.run(&format!("filter build --kind {kind} --error-rate 0.0001 f.tw keys")).ok();
        let all = sandbox.run("filter query f.tw keys").ok();
        assert_eq!(all.text(), "maybe\n".repeat(20_000));
        // Present and absent keys by turns.
        let mixed: String = (0..20_000).map(|number| format!("key {number}\nno {number}\n")).collect();
        let answers = sandbox.feed("filter query f.tw --with-key", mixed.as_bytes()).ok();
        let mut wrong = 0;
        for (line, key) in answers.text().lines().zip(mixed.lines()) {
            let (answer, found) = line.split_once('\t').unwrap();
            assert_eq!(found, key);
            assert!(answer == "maybe" || answer == "no" && key.starts_with("no"), "{line}");
            wrong += u32::from(answer == "maybe" && key.starts_with("no"));
        }
        assert_eq!(answers.text().lines().count(), 40_000);
        assert!(wrong <= 20, "{wrong} of 20,000 at a rate of 0.0001");
        let count = sandbox.feed("filter query f.tw --count", mixed.as_bytes()).ok();
        assert_eq!(count.text(), format!("{}\n", 20_000 + wrong));
    }
}

#[test]
fn lines_may_end_in_any_way_and_hold_any_bytes() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        sandbox.write("dos", b"ant\r\n\r\n\r\nbee \r\n");
        sandbox.write("bytes", b"\n\xff\xfe\x00z\n\n\tcow");
        sandbox.run(&format!("filter build --kind {kind} --error-rate 0.000001 f.tw dos bytes")).ok();
        let items = &sandbox.run("filter info --json f.tw").ok().json()[0]["items"];
        assert_eq!(items, 4);
        let asked =
            sandbox.feed("filter query f.tw", b"ant\nbee \n\xff\xfe\x00z\r\n\tcow\nbee\ncow\nant\r").ok();
        assert_eq!(asked.text(), "maybe\nmaybe\nmaybe\nmaybe\nno\nno\nno\n");
        // The key comes back as it was.
        let asked = sandbox.feed("filter query f.tw --with-key -", b"\xff\xfe\x00z\r\n").ok();
        assert_eq!(asked.out, b"maybe\t\xff\xfe\x00z\n");
    }
}

#[test]
fn keys_are_given_as_arguments_too() {
    let sandbox = Sandbox::new();
    let odd = OsStr::from_bytes(b"\xff");
    let key = OsStr::new("--key");
    let build = ["filter", "build", "f.tw", "--error-rate", "1e-9"].map(OsStr::new);
    let keys = [key, OsStr::new(""), key, OsStr::new("-x"), key, odd];
    sandbox.run_with(build.iter().chain(&keys), b"not read\n").ok();
    let query = ["filter", "query", "f.tw"].map(OsStr::new);
    let more = [key, OsStr::new("not read"), key, OsStr::new("\n")];
    let answers = sandbox.run_with(query.iter().chain(&keys).chain(&more), b"").ok();
    assert_eq!(answers.text(), "maybe\nmaybe\nmaybe\nno\nno\n");
    sandbox.run("filter query f.tw --key a keys").fails(&["cannot be used with"]);
}

#[test]
fn the_exit_status_is_as_greps() {
    let sandbox = animals("expandable");
    assert_eq!(sandbox.run("filter query f.tw --key cow --key ant").status(0).text(), "no\nmaybe\n");
    assert_eq!(sandbox.run("filter query f.tw --key cow --key pig").status(1).text(), "no\nno\n");
    assert_eq!(sandbox.run("filter query f.tw").status(1).text(), "");
    assert_eq!(sandbox.run("filter query f.tw --count").status(1).text(), "0\n");
    sandbox.run("filter query f.tw nothing-here").fails(&["nothing-here", "No such file"]);
    sandbox.run("filter query f.tw .").fails(&[".", "is a folder"]);
}

#[test]
fn json_names_bytes_that_are_no_text() {
    let sandbox = animals("quotient");
    let answers = sandbox.feed("filter query --json f.tw", "ant\nmücke\n".as_bytes()).ok().json();
    assert_eq!(answers[0], serde_json::json!({ "answer": "maybe", "key": "ant" }));
    assert_eq!(answers[1], serde_json::json!({ "answer": "no", "key": "mücke" }));
    let answers = sandbox.feed("filter query --json f.tw", b"\xff\n").status(1).json();
    assert_eq!(answers[0], serde_json::json!({ "answer": "no", "key_hex": "ff" }));
    let count = sandbox.feed("filter query --json --count f.tw", b"ant\ncow\n").ok().json();
    assert_eq!(count[0], serde_json::json!({ "keys": 2, "maybe": 1 }));
}

#[test]
fn an_empty_input_makes_an_empty_filter() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        sandbox.write("empty", "");
        sandbox.run(&format!("filter build --kind {kind} f.tw empty")).ok();
        let info = &sandbox.run("filter info --json f.tw").ok().json()[0];
        assert_eq!((&info["items"], &info["bits_per_item"]), (&0.into(), &serde_json::Value::Null));
        assert!(sandbox.run("filter info f.tw").ok().text().contains("items"));
        assert_eq!(sandbox.run("filter query f.tw --key ant").status(1).text(), "no\n");
    }
}

#[test]
fn a_file_is_replaced_only_if_asked_for() {
    let sandbox = animals("expandable");
    let before = sandbox.read("f.tw");
    // It is said before anything is read.
    let waiting = sandbox.start("filter build f.tw");
    ended_while_open(waiting, "build").fails(&["f.tw exists already", "--force", "--add"]);
    sandbox.run("filter merge f.tw f.tw").fails(&["f.tw exists already", "--force"]);
    assert_eq!(sandbox.read("f.tw"), before);
    sandbox.feed("filter build --force f.tw", b"cow\n").ok();
    assert_eq!(sandbox.feed("filter query f.tw", b"ant\ncow\n").ok().text(), "no\nmaybe\n");
    assert_eq!(sandbox.names(), ["f.tw"]);
}

#[test]
fn nothing_but_a_filter_is_replaced() {
    let sandbox = animals("expandable");
    sandbox.write("words.txt", "ant\nbee\n");
    sandbox.write("empty", "");
    // File and keys the wrong way round.
    for command in ["build words.txt f.tw", "build --force words.txt f.tw", "merge --force words.txt f.tw"] {
        let run = sandbox.run(&format!("filter {command}"));
        run.fails(&["words.txt exists already and is not a filter file", "never replaced"]);
    }
    assert_eq!(sandbox.read("words.txt"), b"ant\nbee\n");
    sandbox.run("filter build --force empty --key cow").ok();
    // A damaged filter is one, too.
    let whole = sandbox.read("f.tw");
    for damaged in [&whole[..100], &whole[..whole.len() - 1], b"twiceshy\x09\x09"] {
        sandbox.write("f.tw", damaged);
        sandbox.run("filter build --force f.tw --key cow").ok();
    }
}

#[test]
fn keys_can_be_added() {
    for kind in KINDS {
        let sandbox = animals(kind);
        sandbox.feed("filter build --add f.tw", &numbers(5_000)).ok();
        sandbox.run("filter build --add f.tw --key cow").ok();
        let asked = [b"ant\nbee\ncow\n".as_slice(), &numbers(5_000)].concat();
        assert_eq!(sandbox.feed("filter query f.tw", &asked).ok().text(), "maybe\n".repeat(5_003));
        let info = &sandbox.run("filter info --json f.tw").ok().json()[0];
        assert_eq!((&info["items"], &info["kind"]), (&5_003.into(), &kind.into()));
        let before = sandbox.read("f.tw");
        sandbox.run("filter build --add f.tw nothing-here").fails(&["nothing-here"]);
        assert_eq!(sandbox.read("f.tw"), before);
    }
    let sandbox = Sandbox::new();
    sandbox.run("filter build --add f.tw --key ant").fails(&["f.tw", "there is no f.tw"]);
    sandbox.run("filter build --add --force f.tw --key ant").fails(&["cannot be used with"]);
    assert_eq!(sandbox.names(), [""; 0]);
}

#[test]
fn filters_that_are_alike_can_be_merged() {
    for kind in KINDS {
        let sandbox = animals(kind);
        sandbox.feed("filter build --like f.tw g.tw", &numbers(3_000)).ok();
        sandbox.run("filter build --like g.tw h.tw --key cow").ok();
        sandbox.run("filter merge all.tw f.tw g.tw h.tw").ok();
        let asked = [b"ant\nbee\ncow\n".as_slice(), &numbers(3_000)].concat();
        assert_eq!(sandbox.feed("filter query all.tw", &asked).ok().text(), "maybe\n".repeat(3_003));
        let info = sandbox.run("filter info --json all.tw f.tw").ok().json();
        assert_eq!(info[0]["items"], 3_003);
        assert_eq!(info[0]["hash_id"], info[1]["hash_id"]);
        // A filter that is merged may be the one that is made.
        sandbox.run("filter merge --force f.tw f.tw g.tw").ok();
        assert_eq!(sandbox.run("filter info --json f.tw").ok().json()[0]["items"], 3_002);
        // What was printed is what is there.
        let made = sandbox.run("filter merge --json again.tw h.tw").ok().json();
        assert_eq!((&made[0]["items"], &made[0]["kind"]), (&1.into(), &kind.into()));
    }
}

#[test]
fn filters_that_are_not_alike_are_named_with_the_remedy() {
    let sandbox = animals("quotient");
    sandbox.feed("filter build --kind quotient g.tw", b"cow\n").ok();
    sandbox.feed("filter build h.tw", b"cow\n").ok();
    let run = sandbox.run("filter merge all.tw f.tw g.tw");
    run.fails(&["f.tw and g.tw", "different hash keys", "filter build --force --like f.tw g.tw"]);
    let run = sandbox.run("filter merge all.tw f.tw h.tw");
    run.fails(&["f.tw is of kind quotient", "h.tw of kind expandable", "--like f.tw h.tw"]);
    sandbox.run("filter merge all.tw").fails(&["<IN>"]);
    sandbox.run("filter merge all.tw f.tw nothing-here").fails(&["nothing-here"]);
    assert_eq!(sandbox.names(), ["f.tw", "g.tw", "h.tw"]);
    // The remedy works.
    sandbox.feed("filter build --force --like f.tw h.tw", b"cow\n").ok();
    sandbox.run("filter merge all.tw f.tw h.tw").ok();
}

#[test]
fn files_of_every_kind_are_told_apart() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/v2");
    let sandbox = Sandbox::new();
    let mut kinds = std::collections::BTreeMap::<String, u32>::new();
    for entry in fs::read_dir(fixtures).unwrap() {
        let path = entry.unwrap().path();
        let path = common::text(&path);
        let info = &sandbox.run_with(["filter", "info", "--json", path], b"").ok().json()[0];
        assert_eq!((&info["file"], &info["format_version"]), (&path.into(), &2.into()));
        assert_eq!(info["file_bytes"], fs::metadata(path).unwrap().len());
        for field in ["items", "load", "expected_error_rate", "fingerprint_bits", "bits_per_item"] {
            assert!(info[field].is_number(), "{field} of {path}");
        }
        let kind = info["kind"].as_str().unwrap();
        *kinds.entry(kind.to_owned()).or_default() += 1;
        let words = sandbox.run_with(["filter", "info", path], b"").ok();
        for word in [path, kind, "items", "bits per item", "expected error rate", "load"] {
            assert!(words.text().contains(word), "{word} in {}", words.text());
        }
        assert_eq!(words.text().contains("age "), kind == "expandable");
        let found = sandbox.run_with(["filter", "query", path, "--key", "ant"], b"");
        assert!(matches!(found.status.code(), Some(0 | 1)), "{}: {}", found.command, found.err);
    }
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        [("adaptive".to_owned(), 4), ("expandable".to_owned(), 5), ("quotient".to_owned(), 6)]
    );
    // Adaptive filters can be asked, but not changed.
    fs::copy(format!("{fixtures}/adaptive-grown.twiceshy"), sandbox.path("a.tw")).unwrap();
    for command in ["build --add a.tw --key b", "build --like a.tw b.tw --key b", "merge b.tw a.tw"] {
        sandbox.run(&format!("filter {command}")).fails(&["a.tw is an adaptive filter", "twiceshy store"]);
    }
}

#[test]
fn info_tells_the_ages() {
    let sandbox = Sandbox::new();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/v2/expandable-chained.twiceshy");
    fs::copy(fixture, sandbox.path("f.tw")).unwrap();
    let info = &sandbox.run("filter info --json f.tw").ok().json()[0];
    let ages = info["ages"].as_array().unwrap();
    assert!(ages.len() > 1, "{info}");
    let fingerprints: u64 = ages.iter().map(|age| age["fingerprints"].as_u64().unwrap()).sum();
    assert_eq!(info["fingerprints"], fingerprints);
    assert_eq!(info["mode"], "chained");
    let words = sandbox.run("filter info f.tw f.tw").ok();
    assert_eq!(words.text().matches("age 0").count(), 2);
}

#[test]
fn damaged_files_are_refused() {
    for kind in KINDS {
        let sandbox = animals(kind);
        let good = sandbox.read("f.tw");
        for at in (0..good.len()).step_by(13).chain([good.len() - 1]) {
            let mut bad = good.clone();
            bad[at] ^= 4;
            sandbox.write("bad.tw", &bad);
            for command in ["query bad.tw --key ant", "info bad.tw", "info --json bad.tw"] {
                sandbox.run(&format!("filter {command}")).fails(&["bad.tw"]);
            }
            sandbox.run("filter build --add bad.tw --key cow").fails(&["bad.tw"]);
            assert_eq!(sandbox.read("bad.tw"), bad);
            sandbox.run("filter merge out.tw f.tw bad.tw").fails(&["bad.tw"]);
        }
        for len in [0, 5, 127, 128, good.len() - 1] {
            sandbox.write("bad.tw", &good[..len]);
            sandbox.run("filter info bad.tw").fails(&["bad.tw", "cut off"]);
        }
        sandbox.write("bad.tw", [&good[..], b"x"].concat());
        sandbox.run("filter info bad.tw").fails(&["bad.tw", "appended"]);
        let mut newer = good.clone();
        newer[8] = 3;
        sandbox.write("bad.tw", &newer);
        sandbox.run("filter info bad.tw").fails(&["bad.tw", "format version 3", "use a newer one"]);
        let older = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/v1/adaptive-grown.twiceshy");
        fs::copy(older, sandbox.path("bad.tw")).unwrap();
        sandbox.run("filter info bad.tw").fails(&["bad.tw", "format version 1", "build the filter anew"]);
        sandbox.write("bad.tw", "x".repeat(500));
        sandbox.run("filter info bad.tw").fails(&["bad.tw is no twiceshy filter"]);
        sandbox.run("filter info .").fails(&["folder"]);
        sandbox.run("filter info nothing-here").fails(&["nothing-here", "No such file"]);
        assert_eq!(sandbox.names(), ["bad.tw", "f.tw"]);
    }
}

#[test]
fn bad_arguments_are_named() {
    let sandbox = Sandbox::new();
    for rate in ["0", "1", "-1", "2", "x", "nan", ""] {
        sandbox
            .run_with(["filter", "build", "f.tw", &format!("--error-rate={rate}")], b"")
            .fails(&["--error-rate"]);
    }
    sandbox.run("filter build --kind bloom f.tw").fails(&["bloom", "expandable, quotient"]);
    sandbox.run("filter build --like g.tw --kind quotient f.tw").fails(&["cannot be used with"]);
    sandbox.run("filter build").fails(&["<FILE>"]);
    sandbox.run("filter frob").fails(&["frob"]);
    sandbox.run("filter").fails(&["Usage"]).status(2);
    sandbox.run("filter build --kind quotient --capacity 99999999999999999 f.tw").fails(&["capacity"]);
    sandbox.run("filter build --kind quotient --error-rate 1e-30 f.tw").fails(&["bits"]);
    assert_eq!(sandbox.names(), [""; 0]);
}

#[test]
fn numbers_are_given_as_people_write_them() {
    let sandbox = Sandbox::new();
    let info = |arguments: &str| {
        sandbox.run(&format!("filter build --force --kind quotient {arguments} f.tw --key ant")).ok();
        let info = sandbox.run("filter info --json f.tw").ok().json().remove(0);
        (info["fingerprint_bits"].clone(), info["file_bytes"].clone())
    };
    let expected = info("--error-rate 0.01 --capacity 20000");
    for same in ["--error-rate 1% --capacity 20k", "--error-rate 1/100 --capacity 20_000"] {
        assert_eq!(info(same), expected, "{same}");
    }
    assert_ne!(info("--error-rate 0.1% --capacity 20k"), expected);
    assert_ne!(info("--error-rate 1% --capacity 2M"), expected);
    assert_eq!(info(""), info("--error-rate 1/1000"));
    for (wrong, remedy) in
        [("--error-rate 1/", "0.01, 1% or 1/100"), ("--capacity 1.5", "1.5M"), ("--capacity 2x", "100k")]
    {
        sandbox.run(&format!("filter build {wrong} g.tw")).fails(&[remedy]);
    }
}

#[test]
fn a_capacity_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.write("keys", numbers(1_000));
    let run = sandbox.run("filter build --kind quotient --capacity 100 f.tw keys");
    run.fails(&["more keys than --capacity 100", "--kind expandable"]);
    sandbox.run("filter build --kind quotient --capacity 100000 f.tw keys").ok();
    sandbox.run("filter build --kind quotient g.tw keys").ok();
    sandbox.run("filter build --capacity 100000 h.tw keys").ok();
    let info = sandbox.run("filter info --json f.tw g.tw h.tw").ok().json();
    let slots: Vec<_> = info.iter().map(|info| info["slots"].as_u64().unwrap()).collect();
    assert_eq!(slots, [1 << 17, 2_048, 1 << 17]);
}

#[test]
fn copies_are_counted() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        sandbox.feed(&format!("filter build --kind {kind} f.tw"), &b"ant\n".repeat(10_000)).ok();
        let info = &sandbox.run("filter info --json f.tw").ok().json()[0];
        assert_eq!((&info["items"], &info["fingerprints"]), (&10_000.into(), &1.into()));
        assert!(info["used_slots"].as_u64().unwrap() < 20);
    }
}

#[test]
fn a_key_may_have_ten_megabytes() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let long = "x".repeat(10 << 20);
        sandbox.write("keys", format!("ant\n{long}\r\n{long}y"));
        sandbox.run(&format!("filter build --kind {kind} --error-rate 1e-6 f.tw keys")).ok();
        let asked = format!("{long}\n{long}y\n{long}z\nant\n");
        assert_eq!(
            sandbox.feed("filter query f.tw", asked.as_bytes()).ok().text(),
            "maybe\nmaybe\nno\nmaybe\n"
        );
    }
}

#[test]
fn places_where_no_file_can_be_are_refused() {
    let sandbox = animals("expandable");
    fs::create_dir(sandbox.path("folder")).unwrap();
    let pipe = sandbox.pipe("pipe");
    for (target, words) in [
        ("folder", "not a regular file"),
        ("f.tw/g.tw", "f.tw is a file, not a folder"),
        ("missing/g.tw", "cannot write into the folder missing"),
        ("pipe", "not a regular file"),
        ("/proc/g.tw", "/proc"),
    ] {
        for command in [format!("build --force {target} --key a"), format!("merge --force {target} f.tw")] {
            sandbox.run(&format!("filter {command}")).fails(&[words]);
        }
    }
    assert!(fs::metadata(pipe).unwrap().file_type().is_fifo());
    assert_eq!(sandbox.names(), ["f.tw", "folder", "pipe"]);
}

#[test]
fn a_link_stays_a_link_and_the_file_private() {
    let sandbox = animals("expandable");
    symlink("f.tw", sandbox.path("link")).unwrap();
    sandbox.run("filter build --add link --key cow").ok();
    sandbox.run("filter build --force link --key pig").ok();
    assert!(fs::symlink_metadata(sandbox.path("link")).unwrap().is_symlink());
    assert_eq!(sandbox.run("filter query f.tw --key pig --key ant").ok().text(), "maybe\nno\n");
    assert_eq!(fs::metadata(sandbox.path("f.tw")).unwrap().mode() & 0o777, 0o600);
    symlink("nowhere", sandbox.path("broken")).unwrap();
    sandbox.run("filter build broken --key pig").fails(&["broken"]);
}

#[test]
fn without_space_nothing_is_left_and_nothing_is_lost() {
    let sandbox = animals("expandable");
    sandbox.write("keys", numbers(50_000));
    let before = sandbox.read("f.tw");
    let limited = "trap '' XFSZ; ulimit -f 8; twiceshy filter";
    for command in ["build g.tw keys", "build --kind quotient g.tw keys", "build --add f.tw keys"] {
        sandbox.shell(&format!("{limited} {command}")).fails(&["cannot write", "File too large"]);
        assert_eq!(sandbox.names(), ["f.tw", "keys"]);
        assert_eq!(sandbox.read("f.tw"), before);
    }
    for command in ["query f.tw keys", "query --count f.tw keys", "query --json f.tw keys", "info f.tw"] {
        let run = sandbox.shell(&format!("twiceshy filter {command} > /dev/full"));
        run.fails(&["cannot write to standard output", "No space left"]);
    }
    // What was done is not to be done again: these keys would count twice.
    for command in ["build new.tw --key pig", "build --add f.tw --key pig", "merge two.tw f.tw new.tw --json"]
    {
        let command = command.replace("build new.tw", "build --like f.tw new.tw");
        let run = sandbox.shell(&format!("twiceshy filter {command} > /dev/full"));
        run.fails(&["it is done, but nobody could be told", "cannot write to standard output"]);
    }
    for file in ["f.tw", "new.tw", "two.tw"] {
        assert_eq!(sandbox.run(&format!("filter query {file} --key pig")).ok().text(), "maybe\n");
    }
}

#[test]
fn whoever_has_read_enough_hears_nothing() {
    let sandbox = animals("expandable");
    sandbox.write("keys", numbers(200_000));
    let run = sandbox.shell("twiceshy filter query f.tw keys | head -1");
    assert_eq!(run.ok().text(), "no\n");
}

#[test]
fn an_interrupted_build_leaves_everything_as_it_was() {
    let sandbox = animals("expandable");
    let before = sandbox.read("f.tw");
    for command in ["build g.tw", "build --kind quotient g.tw", "build --force f.tw", "build --add f.tw"] {
        let mut child = sandbox.start(&format!("filter {command}"));
        // It goes on reading.
        child.stdin.as_mut().unwrap().write_all(&numbers(100_000)).unwrap();
        thread::sleep(Duration::from_millis(20));
        signal(&child, "INT");
        let run = ended_while_open(child, command);
        assert_eq!(run.status.signal(), Some(2), "{command}: {}", run.err);
        assert_eq!(sandbox.names(), ["f.tw"]);
        assert_eq!(sandbox.read("f.tw"), before);
    }
}

/// In earlier runs, and earlier in the same keys.
#[test]
fn what_is_added_is_said_to_be_seen_before_or_not() {
    for kind in KINDS {
        let sandbox = animals(kind);
        let added = sandbox.feed("filter build --add f.tw", b"bee\ncow\ncow\nant\ndog\n").ok();
        assert!(added.text().starts_with("f.tw: 5 keys added, 3 seen before; "), "{}", added.text());
        let added = &sandbox.feed("filter build --add --json f.tw", b"dog\neel\n").ok().json()[0];
        assert_eq!((added["added"].as_u64(), added["seen_before"].as_u64()), (Some(2), Some(1)));
        // Many, so that the filter grows on the way.
        sandbox.write("keys", numbers(30_000));
        sandbox.run("filter build --add f.tw keys").ok();
        let again = sandbox.run("filter build --add f.tw keys").ok();
        assert!(
            again.text().starts_with("f.tw: 30,000 keys added, 30,000 seen before; "),
            "{}",
            again.text()
        );
    }
}

#[test]
fn a_filter_is_not_taken_for_keys() {
    let sandbox = animals("expandable");
    let before = sandbox.read("f.tw");
    for command in ["filter build --force f.tw f.tw", "filter build new.tw f.tw", "filter query f.tw f.tw"] {
        sandbox.run(command).fails(&["f.tw is a filter, not a file of keys"]);
    }
    assert_eq!(sandbox.read("f.tw"), before);
    fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.run("filter info folder").fails(&["folder is a folder", "store stats folder"]);
    sandbox.feed("filter build --add absent.tw", b"ant\n").fails(&["no absent.tw", "leave out --add"]);
    // What is short is no filter that was cut off.
    sandbox.write("words", b"ant\n");
    sandbox.run("filter query words f.tw").fails(&["no twiceshy filter"]);
}
