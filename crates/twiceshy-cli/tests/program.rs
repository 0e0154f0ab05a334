//! The program as a whole: help, versions, completions, documents.

mod common;

use std::fs;

use common::Sandbox;

const COMMANDS: [&str; 26] = [
    "race",
    "filter build",
    "filter query",
    "filter info",
    "filter merge",
    "list build",
    "list query",
    "list add",
    "list move",
    "list remove",
    "list info",
    "list verify",
    "list delta",
    "list apply",
    "store create",
    "store import",
    "store insert",
    "store get",
    "store range",
    "store remove",
    "store stats",
    "store verify",
    "store rebuild",
    "store export",
    "completions",
    "help",
];

#[test]
fn versions_and_bad_commands() {
    let sandbox = Sandbox::new();
    let version = format!("twiceshy {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(sandbox.run("--version").ok().text(), version);
    sandbox.run("filter build --version").ok();
    sandbox.run("").status(2);
    sandbox.run("frob").fails(&["frob", "Usage"]);
    sandbox.run("store get --frob").fails(&["--frob"]);
    assert_eq!(sandbox.names(), [""; 0]);
}

#[test]
fn help_has_examples_everywhere() {
    let sandbox = Sandbox::new();
    let help = sandbox.run("--help").ok();
    assert!(help.text().contains("Exit status"));
    for command in COMMANDS {
        assert!(help.text().contains(command.split(' ').next().unwrap()), "{command}");
        if command == "help" {
            continue;
        }
        for flag in ["-h", "--help"] {
            let help = sandbox.run(&format!("{command} {flag}")).ok();
            assert!(help.text().contains(&format!("  twiceshy {command}")), "{}", help.text());
            assert!(!help.text().contains('\x1b'), "colours without a terminal");
        }
    }
}

/// The flags in a help text.
fn flags(help: &str) -> Vec<String> {
    let options = help.split("Options:").nth(1).unwrap_or("").split("\nExample").next().unwrap_or("");
    let words = options.lines().filter(|line| line.trim_start().starts_with('-'));
    let flags = words.flat_map(|line| line.split([' ', ',', '=']).filter(|word| word.starts_with("--")));
    flags.map(|flag| flag.trim_end_matches(['[', '.', '<']).to_owned()).collect()
}

#[test]
fn the_reference_knows_every_command_and_every_flag() {
    let sandbox = Sandbox::new();
    let reference = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md")).unwrap();
    let mut known = 0;
    for command in COMMANDS.into_iter().filter(|command| *command != "help") {
        let heading = format!("### `twiceshy {command}");
        let section =
            reference.split(&heading).nth(1).unwrap_or_else(|| panic!("no {heading:?} in docs/cli.md"));
        let section = section.split("\n### ").next().unwrap();
        for flag in flags(sandbox.run(&format!("{command} --help")).ok().text()) {
            if !matches!(flag.as_str(), "--help" | "--version") {
                assert!(section.contains(&flag), "docs/cli.md says nothing of {command} {flag}");
                known += 1;
            }
        }
    }
    assert!(known > 25, "only {known} flags were found in help texts");
}

#[test]
fn completions_for_every_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.run(&format!("completions {shell}")).ok();
        for word in ["twiceshy", "filter", "import", "error-rate"] {
            assert!(script.text().contains(word), "{word} for {shell}");
        }
    }
    sandbox.run("completions csh").fails(&["csh", "bash"]);
    sandbox.shell("twiceshy completions bash > /dev/full").fails(&["cannot write to standard output"]);
    let script = sandbox.shell("twiceshy completions bash > script && bash -n script");
    script.ok();
}

#[test]
fn a_closed_standard_error_does_no_harm() {
    let sandbox = Sandbox::new();
    sandbox.shell("twiceshy filter info nothing-here 2>&-").status(2);
    sandbox.shell("twiceshy filter info nothing-here 2>/dev/full").status(2);
}

/// The shell blocks of a section of a document, up to the next heading of that level or a higher one.
fn walk(document: &str, heading: &str) -> String {
    let path = format!("{}/../../{document}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    let section = text
        .split(&format!("\n{heading}\n"))
        .nth(1)
        .unwrap_or_else(|| panic!("no {heading:?} in {document}"));
    let section = section.split("\n## ").next().unwrap();
    section.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Runs the commands, each in a line, and expects what stands behind `# `; nothing if nothing does.
fn works_as_shown(script: &str, lines: usize) {
    let (mut commands, mut expected) = (String::from("set -e\n"), String::new());
    for line in script.lines() {
        let (command, shown) = line.split_once(" # ").unwrap_or((line, ""));
        commands += &format!("{command}\n");
        if !shown.is_empty() {
            expected += &format!("{shown}\n");
        }
    }
    assert_eq!(script.lines().count(), lines, "{script}");
    let run = Sandbox::new().shell(&commands).ok();
    assert_eq!(run.text(), expected);
}

#[test]
fn the_walk_of_the_readme_works_and_says_what_it_shows() {
    works_as_shown(&walk("README.md", "### From the shell"), 12);
}

#[test]
fn the_walk_through_lists_works_and_says_what_it_shows() {
    works_as_shown(&walk("docs/cli.md", "## Lists"), 12);
}

#[test]
fn there_is_one_default_error_rate() {
    let sandbox = Sandbox::new();
    for command in ["filter build", "store create", "race"] {
        let help = sandbox.run(&format!("{command} --help")).ok();
        let rate = help.text().split("--error-rate <RATE>").nth(1).unwrap();
        let default = rate.split("[default: ").nth(1).unwrap();
        assert!(default.starts_with("0.001]"), "{command}: {default}");
    }
}
