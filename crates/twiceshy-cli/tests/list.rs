//! `twiceshy list`, end to end.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::Duration;

use common::{Sandbox, ended, ended_while_open, numbers, signal};
use serde_json::json;

/// What makes a list of either kind.
const KINDS: [&str; 2] = ["", "--frozen"];

/// A sandbox with a list of some animals that bite, in `l` with keys and in `f` frozen.
fn animals() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("bite", "wasp\nviper\n");
    sandbox.write("tame", "cow\nhen\nant\n");
    sandbox.run("list build --error-rate 1e-6 --yes bite --no tame -o l").ok();
    sandbox.run("list build --error-rate 1e-6 --frozen --keys-of l -o f").ok();
    sandbox
}

/// Some thousand keys of a name, one per line.
fn thousands(name: &str, from: u32, to: u32) -> String {
    (from..to).map(|number| format!("{name} {number}\n")).collect()
}

/// Expects a list of so many keys, by what `info` says.
#[track_caller]
fn has(sandbox: &Sandbox, list: &str, yes: u32, no: u32) {
    let info = &sandbox.run(&format!("list info --json {list}")).ok().json()[0];
    assert_eq!((&info["yes_keys"], &info["no_keys"]), (&yes.into(), &no.into()), "{list}");
}

#[test]
fn every_listed_key_is_answered_rightly_and_in_order() {
    let sandbox = Sandbox::new();
    sandbox.write("yes", thousands("yes", 0, 10_000));
    sandbox.write("no", thousands("no", 0, 30_000));
    let mixed: String = (0..30_000).map(|number| format!("no {number}\nyes {}\n", number % 10_000)).collect();
    for kind in KINDS {
        sandbox.run(&format!("list build {kind} --error-rate 1% --force --yes yes --no no -o l{kind}")).ok();
        let list = format!("l{kind}");
        has(&sandbox, &list, 10_000, 30_000);
        let run = sandbox.feed(&format!("list query {list}"), mixed.as_bytes()).ok();
        assert_eq!(run.text(), "no\nyes\n".repeat(30_000));
        let count = sandbox.feed(&format!("list query {list} --count"), mixed.as_bytes()).ok();
        assert_eq!(count.text(), "30000\n");
        let run = sandbox.run(&format!("list verify {list} --yes yes --no no")).ok();
        assert_eq!(run.text(), "all right: 10,000 YES keys and 30,000 NO keys\n");
        // Unlisted ones, at the rate.
        let others = thousands("other", 0, 50_000);
        let run = sandbox.feed(&format!("list query {list} --count"), others.as_bytes());
        let wrong: u32 = run.text().trim().parse().unwrap();
        assert!(wrong <= 650, "{wrong} of 50,000 at a rate of 0.01");
    }
}

#[test]
fn keys_are_arguments_lines_or_in_files() {
    let sandbox = animals();
    for list in ["l", "f"] {
        let query = |arguments: &str, input: &str| {
            sandbox.feed(&format!("list query {list} {arguments}"), input.as_bytes())
        };
        assert_eq!(query("wasp cow viper", "not read\n").ok().text(), "yes\nno\nyes\n");
        assert_eq!(query("", "wasp\ncow\n").ok().text(), "yes\nno\n");
        assert_eq!(query("--from bite --from tame", "").ok().text(), "yes\nyes\nno\nno\nno\n");
        assert_eq!(query("--from -", "hen\nwasp").ok().text(), "no\nyes\n");
        assert_eq!(query("--with-key wasp cow", "").ok().text(), "yes\twasp\nno\tcow\n");
        // As grep's.
        assert_eq!(query("cow bat", "").status(1).text(), "no\nno\n");
        assert_eq!(query("--count cow bat", "").status(1).text(), "0\n");
        assert_eq!(query("", "").status(1).text(), "");
        let run = query("-", "wasp\n").status(1);
        assert!(run.err.contains("- is taken as a key"), "{}", run.err);
        query("--from nothing-here", "").fails(&["nothing-here", "No such file"]);
        query("--from . ", "").fails(&["is a folder"]);
        query("--from bite wasp", "").fails(&["cannot be used with"]);
        assert_eq!(query("-- -x", "").status(1).text(), "no\n");
        assert_eq!(query("--json wasp", "").ok().json(), [json!({ "answer": "yes", "key": "wasp" })]);
        assert_eq!(query("--json --count wasp hen", "").ok().json(), [json!({ "keys": 2, "yes": 1 })]);
    }
    let listed = sandbox.run("list query l --listed wasp hen bat").ok();
    assert_eq!(listed.text(), "yes\nno\nunlisted\n");
    sandbox.run("list query f --listed wasp").fails(&["f is a frozen list, which has no keys"]);
}

#[test]
fn lines_may_end_in_any_way_and_hold_any_bytes() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        sandbox.write("dos", b"ant\r\n\r\n\r\nbee \r\nant\r\nant");
        sandbox.write("bytes", b"\n\xff\xfe\x00z\n\n\tcow");
        let build = format!("list build {kind} --error-rate 1e-6 --yes dos --yes bytes --no - -o l");
        sandbox.feed(&build, b"bee\n\ncow\r\n\xff\n\xff").ok();
        has(&sandbox, "l", 4, 3);
        let asked = b"ant\nbee \n\xff\xfe\x00z\r\n\tcow\nbee\ncow\n\xff\nant\r";
        assert_eq!(sandbox.feed("list query l", asked).ok().text(), "yes\nyes\nyes\nyes\nno\nno\nno\nno\n");
        let asked = sandbox.feed("list query l --with-key", b"\xff\xfe\x00z\r\n").ok();
        assert_eq!(asked.out, b"yes\t\xff\xfe\x00z\n");
        let asked = sandbox.feed("list query l --json", b"\xff\n").status(1).json();
        assert_eq!(asked, [json!({ "answer": "no", "key_hex": "ff" })]);
    }
}

#[test]
fn keys_that_no_file_can_hold_are_given_as_they_are() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let build = format!("list build {kind} --error-rate 1e-6 -o l");
        let odd =
            [("--yes-key", &b""[..]), ("--no-key", b"-x"), ("--yes-key", b"a\nb"), ("--no-key", b"\xff")];
        let odd: Vec<&OsStr> =
            odd.iter().flat_map(|(flag, key)| [OsStr::new(flag), OsStr::from_bytes(key)]).collect();
        sandbox.run_with(build.split_whitespace().map(OsStr::new).chain(odd.iter().copied()), b"").ok();
        has(&sandbox, "l", 2, 2);
        let verify = ["list", "verify", "l"].map(OsStr::new);
        sandbox.run_with(verify.into_iter().chain(odd.iter().copied()), b"").ok();
        assert_eq!(
            sandbox.run_with(["list", "query", "l", "", "a\nb", "a"], b"").ok().text(),
            "yes\nyes\nno\n"
        );
    }
}

#[test]
fn lists_may_be_empty() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        sandbox.write("empty", "\n\r\n");
        for (yes, no) in [("--yes empty", "--no empty"), ("--yes empty", ""), ("", "--no empty")] {
            sandbox.run(&format!("list build {kind} {yes} {no} --force -o l")).ok();
            has(&sandbox, "l", 0, 0);
            assert_eq!(sandbox.run("list query l ant").status(1).text(), "no\n");
            assert!(sandbox.run("list info l").ok().text().contains("bits per YES key     -\n"));
        }
        sandbox.run(&format!("list build {kind} --no-key ant --force -o l")).ok();
        has(&sandbox, "l", 0, 1);
        sandbox.run(&format!("list build {kind} --yes-key ant --force -o l")).ok();
        assert_eq!(sandbox.run("list query l ant").ok().text(), "yes\n");
        sandbox.run(&format!("list build {kind} -o new")).fails(&["there are no keys", "--yes"]);
        sandbox
            .run(&format!("list build {kind} --yes - --no - -o new"))
            .fails(&["standard input can be read only once"]);
        assert_eq!(sandbox.names(), ["empty", "l"]);
    }
    // What was empty can be filled.
    let sandbox = Sandbox::new();
    sandbox.run("list build --yes /dev/null -o l").ok();
    sandbox.feed("list add l --yes -", &numbers(3_000)).ok();
    has(&sandbox, "l", 3_000, 0);
}

#[test]
fn a_key_on_both_lists_is_named_and_nothing_is_made() {
    let sandbox = animals();
    sandbox.write("long", format!("{}\n", "x".repeat(10_000)));
    for kind in KINDS {
        let build = |arguments: &str| sandbox.run(&format!("list build {kind} {arguments} -o new"));
        build("--yes bite --no tame --no-key wasp").fails(&["\"wasp\" is on both lists", "take each off"]);
        let run = build("--yes bite --no tame --no bite --yes-key hen");
        run.fails(&["\"viper\"", "\"wasp\"", "\"hen\"", "(3 keys) are on both lists"]);
        sandbox.write("many", numbers(1_000));
        let run = build("--yes many --no many --no many");
        run.fails(&["\"key 0\", \"key 1\"", "and others (1,000 keys) are on both lists"]);
        let run = build("--yes long --no long").fails(&["xxx\"… is on both lists"]);
        assert!(run.err.len() < 300);
        build("--keys-of l --no-key viper").fails(&["\"viper\" is on both lists"]);
        assert!(!sandbox.path("new").exists());
    }
    let before = sandbox.read("l");
    let run = sandbox.run("list add l --yes-key bat --yes-key cow --yes-key hen");
    run.fails(&[
        "\"cow\", \"hen\" (2 keys) are on the NO list already",
        "nothing was changed",
        "list move with --yes",
    ]);
    sandbox.run("list add l --no-key wasp").fails(&["\"wasp\" is on the YES list already", "move with --no"]);
    for command in ["add", "move"] {
        let run = sandbox.run(&format!("list {command} l --yes-key bat --no-key bat"));
        run.fails(&["\"bat\" is on both lists"]);
    }
    assert_eq!(sandbox.read("l"), before);
}

#[test]
fn keys_come_change_sides_and_go() {
    let sandbox = animals();
    let run = sandbox.feed("list add l --yes - --no-key bat --yes-key wasp", b"rat\nrat\nadder\n").ok();
    let words = "2 YES keys and 1 NO key added, 2 there before; the list has 4 YES keys and 4 NO keys\n";
    assert_eq!(run.text(), words);
    let run = sandbox.run("list add l --json --yes-key newt --no-key hen").ok();
    let object = json!({ "added_yes": 1, "added_no": 0, "there": 1, "yes_keys": 5, "no_keys": 4 });
    assert_eq!(run.json(), [object]);
    let run =
        sandbox.run("list move l --no-key wasp --no-key newt --yes-key hen --yes-key cat --yes-key rat").ok();
    let words = "3 keys moved, 1 added, 1 there before; the list has 5 YES keys and 5 NO keys\n";
    assert_eq!(run.text(), words);
    let run = sandbox.run("list move l --json --no-key cat").ok();
    let object = json!({ "moved": 1, "added": 0, "there": 0, "yes_keys": 4, "no_keys": 6 });
    assert_eq!(run.json(), [object]);
    let asked = "wasp newt hen cat rat viper adder cow ant bat dog";
    let run = sandbox.run(&format!("list query l --listed {asked}")).ok();
    assert_eq!(run.text(), "no\nno\nyes\nno\nyes\nyes\nyes\nno\nno\nno\nunlisted\n");
    let run = sandbox.run("list remove l hen cow dog hen").status(1);
    let words = "1 YES key and 1 NO key removed, 2 not listed; the list has 3 YES keys and 5 NO keys\n";
    assert_eq!(run.text(), words);
    let run = sandbox.feed("list remove l --json", b"rat\r\n\nbat").ok();
    let object = json!({ "removed_yes": 1, "removed_no": 1, "missing": 0, "yes_keys": 2, "no_keys": 4 });
    assert_eq!(run.json(), [object]);
    sandbox.write("gone", "wasp\nnewt\ncat\nant\nviper\nadder\n");
    sandbox.run("list remove l --from gone").ok();
    has(&sandbox, "l", 0, 0);
    // Nothing to do: the file is not even touched.
    let before = fs::metadata(sandbox.path("l")).unwrap().ino();
    sandbox.run("list remove l wasp").status(1);
    sandbox.run("list add l --yes /dev/null").ok();
    sandbox.run("list move l --no /dev/null").ok();
    assert_eq!(fs::metadata(sandbox.path("l")).unwrap().ino(), before);
    for command in ["add l", "move l"] {
        sandbox.run(&format!("list {command}")).fails(&["there are no keys", "--yes-key"]);
    }
}

/// Thousands of changes, and after each command every key is answered rightly.
#[test]
fn a_list_that_changes_stays_right() {
    let sandbox = Sandbox::new();
    sandbox.write("yes", thousands("a", 0, 3_000));
    sandbox.write("no", thousands("b", 0, 9_000));
    sandbox.run("list build --error-rate 10% --yes yes --no no -o l").ok();
    sandbox.write("more-yes", thousands("c", 0, 8_000));
    sandbox.write("more-no", thousands("d", 0, 8_000));
    sandbox.run("list add l --yes more-yes --no more-no").ok();
    sandbox.run("list verify l --yes yes --no no --yes more-yes --no more-no").ok();
    sandbox.run("list move l --yes no --no yes").ok();
    sandbox.run("list verify l --yes no --no yes --yes more-yes --no more-no").ok();
    sandbox.run("list remove l --from more-yes --from yes").ok();
    sandbox.run("list verify l --yes no --no more-no").ok();
    has(&sandbox, "l", 9_000, 8_000);
    // Its frozen copy, and the other way round.
    sandbox.run("list build --frozen --keys-of l -o f").ok();
    sandbox.run("list verify f --yes no --no more-no").ok();
    let run = sandbox.run("list verify f --yes more-no --no no").status(1);
    assert!(run.text().ends_with("17,000 of 8,000 YES keys and 9,000 NO keys wrong\n"), "{}", run.text());
}

#[test]
fn verify_names_the_wrong_keys() {
    let sandbox = animals();
    for list in ["l", "f"] {
        let run = sandbox.run(&format!("list verify {list} --yes tame --no bite --no-key hen")).status(1);
        let words = "wrong: \"cow\" answers no\nwrong: \"hen\" answers no\nwrong: \"ant\" answers no\n\
                     wrong: \"wasp\" answers yes\nwrong: \"viper\" answers yes\n5 of 3 YES keys and 3 NO keys wrong\n";
        assert_eq!((run.text(), run.err.as_str()), (words, ""));
        let run = sandbox.run(&format!("list verify --json {list} --yes-key cow")).status(1);
        let first = json!([{ "answer": "no", "key": "cow" }]);
        let object = json!({ "ok": false, "yes_keys": 1, "no_keys": 0, "wrong": 1, "first": first });
        assert_eq!(run.json(), [object]);
        let run = sandbox.feed(&format!("list verify {list} --yes -"), &numbers(1_000)).status(1);
        assert_eq!(run.text().matches("wrong: \"key ").count(), 10);
        assert!(run.text().ends_with("1,000 of 1,000 YES keys and 0 NO keys wrong\n"), "{}", run.text());
        sandbox.run(&format!("list verify {list}")).fails(&["there are no keys"]);
        sandbox.run(&format!("list verify {list} --yes nothing-here")).fails(&["nothing-here"]);
    }
}

#[test]
fn deltas_bring_a_frozen_list_up_to_date() {
    let sandbox = Sandbox::new();
    sandbox.write("yes", thousands("a", 0, 20_000));
    sandbox.write("no", thousands("b", 0, 20_000));
    sandbox.run("list build --yes yes --no no -o l").ok();
    sandbox.run("list build --frozen --keys-of l -o f").ok();
    fs::copy(sandbox.path("l"), sandbox.path("old")).unwrap();
    // New ones, some that change sides, some that go.
    sandbox.write("new", thousands("c", 0, 50));
    sandbox.write("pardoned", thousands("a", 0, 20));
    sandbox.write("gone", thousands("a", 100, 200));
    sandbox.run("list add l --yes new").ok();
    sandbox.run("list move l --no pardoned").ok();
    sandbox.run("list remove l --from gone").ok();
    sandbox.run("list delta f l -o forgetful").ok();
    sandbox.run("list delta f l --removed gone -o d").ok();
    sandbox.run("list delta f l --before old -o e").ok();
    assert_eq!(sandbox.read("d"), sandbox.read("e"));
    let size = |name: &str| fs::metadata(sandbox.path(name)).unwrap().len();
    assert!(size("d") * 20 < size("f"), "{} of {}", size("d"), size("f"));
    sandbox.run("list apply f forgetful -o n").ok();
    sandbox.run("list verify n --yes new --no no --no pardoned").ok();
    let run = sandbox.run("list query n --count --from gone").ok();
    assert_eq!(run.text(), "100\n", "nobody said that they are gone");
    sandbox.run("list apply f d --force -o n").ok();
    sandbox.run("list verify n --yes new --no no --no pardoned").ok();
    sandbox.run("list query n --count --from gone").status(1);
    has(&sandbox, "n", 20_000 + 50 - 20 - 100, 20_020);
    // One after the other, onto itself, in one go.
    sandbox.run("list add l --no gone --yes-key last").ok();
    sandbox.run("list delta n l -o d2").ok();
    sandbox.run("list apply f d d2 -o both").ok();
    sandbox.run("list apply n d2 --force -o n").ok();
    assert_eq!(sandbox.read("both"), sandbox.read("n"));
    sandbox.run("list verify n --yes new --yes-key last --no no --no pardoned --no gone").ok();
    let info = &sandbox.run("list info --json n").ok().json()[0];
    let made = &sandbox.run("list info --json d2").ok().json()[0];
    assert_eq!((&info["deltas"], &info["name"]), (&2.into(), &made["name"]));
    // For another list: an error, and nothing is made.
    sandbox.run("list apply f d2 -o x").fails(&[
        "d2",
        "the delta is for the list",
        "apply the deltas before it",
    ]);
    sandbox.run("list apply f d2 d -o x").fails(&["d2"]);
    sandbox.run("list apply n d -o x").fails(&["d:", "is for the list"]);
    sandbox.run("list delta f l --removed nothing-here -o x").fails(&["nothing-here"]);
    assert!(!sandbox.path("x").exists());
}

#[test]
fn many_deltas_are_advised_against() {
    let sandbox = animals();
    for number in 1..=10 {
        sandbox.run(&format!("list add l --yes-key {number}")).ok();
        let run = sandbox.run("list delta f l --force -o d").status(0);
        assert_eq!(run.err.contains("f has 10 deltas"), number == 10, "{}", run.err);
        sandbox.run("list apply f d --force -o f").ok();
        sandbox.run(&format!("list verify f --yes bite --no tame --yes-key {number}")).ok();
    }
}

#[test]
fn a_file_is_replaced_only_if_asked_for_and_only_by_its_like() {
    let sandbox = animals();
    sandbox.run("list delta f l -o d").ok();
    sandbox.run("filter build s.tw --key ant").ok();
    let names = ["bite", "d", "f", "l", "s.tw"];
    let before = names.map(|name| sandbox.read(name));
    // It is said before anything is read.
    let waiting = sandbox.start("list build --yes - -o l");
    ended_while_open(waiting, "build").fails(&["l exists already", "--force", "list add"]);
    let waiting = sandbox.start("list build --frozen --yes - -o f");
    ended_while_open(waiting, "build").fails(&["f exists already", "--force"]);
    let waiting = sandbox.start("list add f --yes -");
    ended_while_open(waiting, "add").fails(&["f is a frozen list, which has no keys"]);
    sandbox.run("list apply f d -o f").fails(&["f exists already", "--force"]);
    sandbox.run("list delta f l -o d").fails(&["d exists already", "--force"]);
    for (command, what) in [
        ("list build --yes-key a -o", "a list with keys"),
        ("list build --frozen --yes-key a -o", "a frozen list"),
        ("list apply f d -o", "a frozen list"),
        ("list delta f l -o", "a delta of a frozen list"),
        ("filter build --key ant", "a filter file"),
        ("filter merge", "a filter file"),
    ] {
        let own = match what {
            "a list with keys" => "l",
            "a frozen list" => "f",
            "a filter file" => "s.tw",
            _ => "d",
        };
        for name in names.into_iter().filter(|name| *name != own) {
            let inputs = if command == "filter merge" { "s.tw" } else { "" };
            let run = sandbox.run(&format!("{command} {name} {inputs} --force"));
            run.fails(&[&format!("{name} exists already and is not {what}")]);
        }
    }
    assert_eq!(names.map(|name| sandbox.read(name)), before);
    sandbox.run("list build --force --yes-key bat -o l").ok();
    assert_eq!(sandbox.run("list query l bat wasp").ok().text(), "yes\nno\n");
    // A damaged one gives way, too.
    for name in ["l", "f"] {
        let good = sandbox.read(name);
        sandbox.write(name, &good[..100]);
        let kind = if name == "f" { "--frozen" } else { "" };
        sandbox.run(&format!("list build {kind} --force --yes-key bat -o {name}")).ok();
    }
    assert_eq!(sandbox.names(), ["bite", "d", "f", "l", "s.tw", "tame"]);
}

#[test]
fn files_of_other_kinds_are_refused_with_the_command_that_is_for_them() {
    let sandbox = animals();
    sandbox.run("list delta f l -o d").ok();
    sandbox.run("filter build s.tw --key ant").ok();
    for command in
        ["list query s.tw ant", "list info s.tw", "list verify s.tw --yes-key ant", "list remove s.tw ant"]
    {
        let run = sandbox.run(command);
        run.fails(&["s.tw is a filter of kind expandable", "twiceshy filter query s.tw", "filter info s.tw"]);
    }
    for list in ["l", "f"] {
        let what = if list == "l" { "a list with keys" } else { "a frozen list" };
        for command in ["info", "query", "build --add", "build --like", "merge new.tw"] {
            let run = sandbox.run(&format!("filter {command} {list} new.tw"));
            run.fails(&[
                &format!("{list} is {what}"),
                &format!("twiceshy list query {list}"),
                &format!("list info {list}"),
            ]);
        }
        sandbox.run(&format!("list info {list}")).ok();
    }
    sandbox.run("filter info d").fails(&["d is a delta", "list apply LIST d -o NEW", "list info d"]);
    sandbox.run("list query d wasp").fails(&["d is a delta", "list apply LIST d -o NEW"]);
    sandbox.run("list verify d --yes bite").fails(&["d is a delta"]);
    for change in
        ["add f --yes-key a", "move f --yes-key a", "remove f a", "build --keys-of f -o x", "delta f f -o x"]
    {
        let run = sandbox.run(&format!("list {change}"));
        run.fails(&["f is a frozen list, which has no keys", "give the list with keys"]);
    }
    for swapped in ["delta l l -o x", "delta l f -o x", "apply l d -o x"] {
        let run = sandbox.run(&format!("list {swapped}"));
        run.fails(&[
            "l is a list with keys and not a frozen list",
            "list build --frozen --keys-of l -o FROZEN",
        ]);
    }
    sandbox.run("list build --frozen --keys-of l -o FROZEN").ok();
    sandbox.run("list apply f l -o x").fails(&["l is a list with keys and not a delta"]);
    sandbox.run("list apply d f -o x").fails(&["d is a delta of a frozen list and not a frozen list"]);
    // In the place of keys.
    sandbox
        .run("list build --yes l -o x")
        .fails(&["l is a list, not a file of keys", "list build --keys-of l"]);
    sandbox.run("list build --yes f -o x").fails(&["f is a frozen list, not a file of keys"]);
    sandbox.run("list build --no s.tw -o x").fails(&["s.tw is a filter, not a file of keys"]);
    sandbox.run("filter build x l").fails(&["l is a list, not a file of keys"]);
    for command in
        ["list query bite wasp", "list info bite", "list add bite --yes-key a", "list delta bite l -o x"]
    {
        sandbox.run(command).fails(&["bite is no twiceshy list"]);
    }
    sandbox.run("list query . wasp").fails(&[". is a folder"]);
    sandbox.run("list query nothing-here wasp").fails(&["nothing-here", "No such file"]);
    sandbox.run("list add nothing-here --yes-key a").fails(&["nothing-here", "No such file"]);
    assert!(!sandbox.path("x").exists() && !sandbox.path("new.tw").exists());
}

#[test]
fn damaged_files_are_refused() {
    let sandbox = animals();
    sandbox.run("list add l --yes-key bat").ok();
    sandbox.run("list delta f l -o d").ok();
    let commands = |name| -> &[&str] {
        match name {
            "l" => &[
                "info bad",
                "add bad --yes-key a",
                "remove bad wasp",
                "build --keys-of bad -o x",
                "delta f bad -o x",
            ],
            "f" => &[
                "info bad",
                "query bad wasp",
                "verify bad --yes bite",
                "delta bad l -o x",
                "apply bad d -o x",
            ],
            _ => &["info bad", "apply f bad -o x"],
        }
    };
    for name in ["l", "f", "d"] {
        let good = sandbox.read(name);
        for at in (0..good.len()).step_by(11).chain([good.len() - 1]) {
            let mut bad = good.clone();
            bad[at] ^= 4;
            sandbox.write("bad", &bad);
            for command in commands(name) {
                sandbox.run(&format!("list {command}")).fails(&["bad"]);
            }
            assert_eq!(sandbox.read("bad"), bad);
        }
        for len in [0, 5, 127, 128, good.len() - 1] {
            sandbox.write("bad", &good[..len]);
            for command in commands(name).iter().chain(["query bad wasp"].iter().filter(|_| name == "l")) {
                sandbox.run(&format!("list {command}")).fails(&["bad", "cut off"]);
            }
        }
        sandbox.write("bad", [&good[..], b"x"].concat());
        for command in commands(name) {
            sandbox.run(&format!("list {command}")).fails(&["bad", "appended"]);
        }
        let mut newer = good.clone();
        newer[8] = 3;
        sandbox.write("bad", &newer);
        sandbox.run("list info bad").fails(&["bad", "format version 3", "use a newer one"]);
    }
    assert_eq!(sandbox.names(), ["bad", "bite", "d", "f", "l", "tame"]);
}

#[test]
fn bad_arguments_are_named() {
    let sandbox = animals();
    for rate in ["0", "1", "-1", "2", "x", "nan", ""] {
        sandbox
            .run_with(["list", "build", "--yes", "bite", "-o", "x", &format!("--error-rate={rate}")], b"")
            .fails(&["--error-rate"]);
    }
    sandbox.run("list build --frozen --error-rate 1e-13 --yes bite -o x").fails(&["smallest error rate"]);
    sandbox.run("list build --error-rate 1e-30 --yes bite -o x").fails(&["bits"]);
    sandbox.run("list build --yes bite").fails(&["--output"]);
    sandbox.run("list build --yes nothing-here -o x").fails(&["nothing-here", "No such file"]);
    sandbox.run("list build --yes . -o x").fails(&["is a folder"]);
    sandbox.run("list delta f l").fails(&["--output"]);
    sandbox.run("list apply f -o x").fails(&["<DELTA>"]);
    sandbox.run("list frob").fails(&["frob"]);
    sandbox.run("list").fails(&["Usage"]);
    assert_eq!(sandbox.names(), ["bite", "f", "l", "tame"]);
}

/// The rate of the list whose keys are taken over, unless another one is given.
#[test]
fn the_error_rate_is_taken_over() {
    let sandbox = animals();
    let rate =
        |file: &str| sandbox.run(&format!("list info --json {file}")).ok().json()[0]["error_rate"].as_f64();
    sandbox.run("list build --error-rate 1/50 --yes bite -o coarse").ok();
    sandbox.run("list build --frozen --keys-of coarse -o a").ok();
    assert_eq!(rate("a"), rate("coarse"));
    assert!(rate("a") > Some(0.005) && rate("a") <= Some(0.02), "{:?}", rate("a"));
    sandbox.run("list build --frozen --keys-of coarse --keys-of l -o b").ok();
    assert_eq!(rate("b"), rate("l"));
    sandbox.run("list build --frozen --keys-of coarse --error-rate 0.3 -o c").ok();
    assert_eq!(rate("c"), Some(0.3));
    sandbox.run("list build --frozen --yes bite -o d").ok();
    assert_eq!(rate("d"), Some(0.001));
    sandbox.run("list build --keys-of coarse -o e").ok();
    assert_eq!(rate("e"), rate("coarse"));
}

#[test]
fn places_where_no_file_can_be_are_refused() {
    let sandbox = animals();
    sandbox.run("list delta f l -o d").ok();
    fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.pipe("pipe");
    for (target, words) in [
        ("folder", "not a regular file"),
        ("f/x", "f is a file, not a folder"),
        ("missing/x", "cannot write into the folder missing"),
        ("pipe", "not a regular file"),
        ("/proc/x", "/proc"),
    ] {
        for command in ["build --yes-key a", "build --frozen --yes-key a", "delta f l", "apply f d"] {
            sandbox.run(&format!("list {command} --force -o {target}")).fails(&[words]);
        }
    }
    assert_eq!(sandbox.names(), ["bite", "d", "f", "folder", "l", "pipe", "tame"]);
}

#[test]
fn a_link_stays_a_link_and_the_file_private() {
    let sandbox = animals();
    symlink("l", sandbox.path("link")).unwrap();
    sandbox.run("list add link --yes-key bat").ok();
    assert!(fs::symlink_metadata(sandbox.path("link")).unwrap().is_symlink());
    assert_eq!(sandbox.run("list query l bat").ok().text(), "yes\n");
    sandbox.run("list delta f l -o d").ok();
    for file in ["l", "f", "d"] {
        assert_eq!(fs::metadata(sandbox.path(file)).unwrap().mode() & 0o777, 0o600, "{file}");
    }
}

#[test]
fn without_space_nothing_is_left_and_nothing_is_lost() {
    let sandbox = animals();
    sandbox.write("keys", numbers(100_000));
    sandbox.run("list build --yes keys -o large").ok();
    sandbox.run("list build --frozen --keys-of large -o shipped").ok();
    sandbox.run("list delta shipped l -o d").ok();
    let names = sandbox.names();
    let before = names.iter().map(|name| sandbox.read(name)).collect::<Vec<_>>();
    let limited = "trap '' XFSZ; ulimit -f 8; twiceshy list";
    for command in [
        "build --yes keys -o new",
        "build --frozen --yes keys -o new",
        "build --yes keys --force -o l",
        "add l --yes keys",
        "move l --no keys",
        "remove large 'key 1'",
        "delta f large -o new",
        "apply shipped d -o new",
    ] {
        sandbox.shell(&format!("{limited} {command}")).fails(&["cannot write", "File too large"]);
        assert_eq!(sandbox.names(), names, "{command}");
    }
    assert_eq!(names.iter().map(|name| sandbox.read(name)).collect::<Vec<_>>(), before);
    for command in ["query l wasp", "query --json f wasp", "info l", "verify f --yes bite"] {
        let run = sandbox.shell(&format!("twiceshy list {command} > /dev/full"));
        run.fails(&["cannot write to standard output", "No space left"]);
    }
    for command in [
        "build --yes bite -o new",
        "add l --yes-key bat",
        "move l --no-key wasp",
        "remove l ant",
        "apply f e -o g",
    ] {
        if command.starts_with("apply") {
            sandbox.run("list delta f l -o e").ok();
        }
        let run = sandbox.shell(&format!("twiceshy list {command} > /dev/full"));
        run.fails(&["it is done, but nobody could be told", "cannot write to standard output"]);
    }
    assert_eq!(sandbox.run("list query l --listed bat wasp ant").ok().text(), "yes\nno\nunlisted\n");
    assert_eq!(sandbox.run("list query g bat wasp").ok().text(), "yes\nno\n");
}

#[test]
fn whoever_has_read_enough_hears_nothing() {
    let sandbox = animals();
    sandbox.write("keys", numbers(200_000));
    let run = sandbox.shell("twiceshy list query l --from keys | head -1");
    assert_eq!(run.ok().text(), "no\n");
}

#[test]
fn an_interrupted_command_leaves_everything_as_it_was() {
    let sandbox = animals();
    let before = (sandbox.read("l"), sandbox.read("f"));
    for command in [
        "build --yes - -o new",
        "build --frozen --yes - -o new",
        "build --force --no - -o l",
        "build --frozen --force --no - -o f",
        "add l --yes -",
        "move l --no -",
        "remove l",
    ] {
        for name in ["INT", "KILL"] {
            let mut child = sandbox.start(&format!("list {command}"));
            // It goes on reading.
            child.stdin.as_mut().unwrap().write_all(&numbers(100_000)).unwrap();
            thread::sleep(Duration::from_millis(20));
            signal(&child, name);
            let run = ended_while_open(child, command);
            assert!(matches!(run.status.signal(), Some(2 | 9)), "{command}: {}", run.err);
            assert_eq!(sandbox.names(), ["bite", "f", "l", "tame"]);
            assert_eq!((sandbox.read("l"), sandbox.read("f")), before, "{command}");
        }
    }
}

/// Whenever it is killed, the list is the old one or the new one, and the next change works.
#[test]
fn a_killed_change_is_done_or_not() {
    let sandbox = Sandbox::new();
    sandbox.write("yes", thousands("a", 0, 60_000));
    sandbox.write("no", thousands("b", 0, 60_000));
    sandbox.write("more", thousands("c", 0, 3_000));
    sandbox.run("list build --yes yes --no no -o l").ok();
    let (mut done, mut not_done) = (0, 0);
    for step in 0..30 {
        let command = if done > not_done { "remove l --from more" } else { "add l --yes more" };
        let child = sandbox.start(&format!("list {command}"));
        thread::sleep(Duration::from_millis(17 * step));
        // It may have come to its end.
        let mut child = child;
        let _ = child.kill();
        ended(child, command.into());
        sandbox.run("list verify l --yes yes --no no").ok();
        let more = sandbox.run("list query l --listed --count --from more");
        match more.text() {
            "0\n" => not_done += 1,
            "3000\n" => done += 1,
            other => panic!("{command} was done by a part: {other}"),
        }
    }
    sandbox.run("list add l --yes more").ok();
    sandbox.run("list verify l --yes yes --no no --yes more").ok();
    has(&sandbox, "l", 63_000, 60_000);
}

/// None of them is lost.
#[test]
fn changes_at_the_same_time_wait_for_each_other() {
    let sandbox = animals();
    sandbox.feed("list add l --no -", &numbers(20_000)).ok();
    // A list that is replaced by one with its own keys has all of them.
    let command = |number| match number % 3 {
        0 => format!("list build --keys-of l --yes-key {number} -o l --force"),
        _ => format!("list add l --yes-key {number}"),
    };
    let children: Vec<_> = (0..12).map(|number| sandbox.start(&command(number))).collect();
    for child in children {
        ended(child, "add".into()).status(0);
    }
    let asked: String = (0..12).map(|number| format!("{number}\n")).collect();
    let run = sandbox.feed("list query l --listed", asked.as_bytes()).ok();
    assert_eq!(run.text(), "yes\n".repeat(12));
    has(&sandbox, "l", 14, 20_003);
}

#[test]
fn a_key_may_have_ten_megabytes() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let long = "x".repeat(10 << 20);
        sandbox.write("yes", format!("ant\n{long}\r\n"));
        sandbox.write("no", format!("{long}y"));
        sandbox.run(&format!("list build {kind} --error-rate 1e-6 --yes yes --no no -o l")).ok();
        let asked = format!("{long}\n{long}y\n{long}z\nant\n");
        assert_eq!(sandbox.feed("list query l", asked.as_bytes()).ok().text(), "yes\nno\nno\nyes\n");
    }
}

/// Real data are fetched, not kept here.
#[test]
fn the_example_needs_npm_and_says_so() {
    let sandbox = Sandbox::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/disposable-domains");
    let output = sandbox.command("/bin/bash").arg(script).env("PATH", sandbox.path("")).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && message.contains("npm is missing"), "{message}");
    assert_eq!(sandbox.names(), [""; 0]);
}

/// The objects that docs/cli.md shows are those that are printed.
#[test]
fn json_is_as_documented() {
    let documentation = include_str!("../../../docs/cli.md");
    let sandbox = animals();
    for command in [
        "query l wasp",
        "query l --count wasp hen",
        "add l --yes-key bat --no-key ewe",
        "move l --no-key bat",
        "remove l bat",
        "verify l --yes bite --no tame",
    ] {
        let run = sandbox.run(&format!("list {command} --json")).ok();
        let example = format!("`{}`", run.text().trim_end());
        assert!(documentation.contains(&example), "{command}: {example}");
    }
    for file in ["l", "f"] {
        let info = &sandbox.run(&format!("list info --json {file}")).ok().json()[0];
        for field in
            ["error_rate", "expected_error_rate", "bits_per_yes_key", "least_bits", "ratio", "file_bytes"]
        {
            assert!(
                info[field].is_number() && documentation.contains(&format!("`{field}`")),
                "{field} of {file}"
            );
        }
        assert_eq!(info["file_bytes"], fs::metadata(sandbox.path(file)).unwrap().len());
    }
    let made = &sandbox.run("list build --json --frozen --yes bite --no tame -o new").ok().json()[0];
    assert_eq!(
        (&made["kind"], &made["yes_keys"], &made["no_keys"]),
        (&"frozen-list".into(), &2.into(), &3.into())
    );
}
