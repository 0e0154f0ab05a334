//! A folder to work in, and the real program.
#![allow(dead_code, reason = "every test program uses a part of it")]

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_twiceshy");

/// A folder of its own for each test.
pub(crate) struct Sandbox(tempfile::TempDir);

/// How the program ended, and what it said.
pub(crate) struct Run {
    pub(crate) command: String,
    pub(crate) status: ExitStatus,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Makes a file that is none: a pipe with a name. Never a device of the machine, which a test as root could destroy.
    pub(crate) fn pipe(&self, name: &str) -> PathBuf {
        assert!(self.command("mkfifo").arg(name).status().unwrap().success());
        self.path(name)
    }

    /// The names of all files.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).env_remove("NO_COLOR");
        command
    }

    /// Runs the program with arguments that are separated by blanks, and nothing to read.
    pub(crate) fn run(&self, arguments: &str) -> Run {
        self.feed(arguments, b"")
    }

    /// Runs it with bytes to read.
    pub(crate) fn feed(&self, arguments: &str, input: &[u8]) -> Run {
        self.run_with(arguments.split_whitespace(), input)
    }

    pub(crate) fn run_with(&self, arguments: impl IntoIterator<Item: AsRef<OsStr>>, input: &[u8]) -> Run {
        let mut command = self.command(PROGRAM);
        command.args(arguments);
        finish(command, input)
    }

    /// Runs a line of shell, in which `twiceshy` is the program, wherever that lies.
    pub(crate) fn shell(&self, line: &str) -> Run {
        let mut command = self.command("sh");
        let program = "twiceshy() { \"$TWICESHY\" \"$@\"; }";
        command.args(["-c", &format!("{program}\n{line}")]).env("TWICESHY", PROGRAM);
        finish(command, b"")
    }

    /// Starts the program with pipes for input and output. It may be interrupted, also if this test may not: what is run
    /// in the background ignores Ctrl-C, and so does whatever it starts.
    pub(crate) fn start(&self, arguments: &str) -> Child {
        let mut command = self.command("env");
        command.args(["--default-signal=INT,TERM,HUP", PROGRAM]);
        command.args(arguments.split_whitespace());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }
}

/// Runs a command to its end.
fn finish(mut command: Command, input: &[u8]) -> Run {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let text = format!("{command:?}");
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // It may end without reading everything.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let run = ended(child, text);
    writer.join().unwrap();
    run
}

/// Waits for the end of a program.
pub(crate) fn ended(child: Child, command: String) -> Run {
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(!err.contains("panicked"), "{command}: {err}");
    Run { command, status: output.status, out: output.stdout, err }
}

/// Sends a signal.
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits for the end of a program whose input stays open.
pub(crate) fn ended_while_open(mut child: Child, command: &str) -> Run {
    let stdin = child.stdin.take();
    wait_until("the end", || child.try_wait().unwrap().is_some());
    let run = ended(child, command.to_owned());
    drop(stdin);
    run
}

/// Waits until something holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} did not happen");
        thread::sleep(Duration::from_millis(5));
    }
}

impl Run {
    /// Expects this exit status.
    #[track_caller]
    pub(crate) fn status(self, expected: i32) -> Self {
        let Self { command, status, out, err } = &self;
        let out = String::from_utf8_lossy(&out[..out.len().min(2_000)]);
        assert_eq!(status.code(), Some(expected), "{command}: {status}\nout: {out}\nerr: {err}");
        self
    }

    /// Expects success and silence on standard error.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        let run = self.status(0);
        assert_eq!(run.err, "", "{}", run.command);
        run
    }

    /// Expects an error that says all this, and nothing on standard output.
    #[track_caller]
    pub(crate) fn fails(self, words: &[&str]) -> Self {
        let run = self.status(2);
        assert_eq!(run.text(), "", "{}", run.command);
        for word in words {
            assert!(run.err.contains(word), "{}: no {word:?} in {:?}", run.command, run.err);
        }
        run
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    /// The objects of all lines.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The numbers up to `count` as keys, one per line.
pub(crate) fn numbers(count: u32) -> Vec<u8> {
    (0..count).flat_map(|number| format!("key {number}\n").into_bytes()).collect()
}

/// A path as text.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
