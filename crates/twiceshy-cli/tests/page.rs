//! `race.html` in a real browser: the plots are there, and no script fails.
//!
//! ```sh
//! cargo test -p twiceshy-cli --test page -- --ignored    # needs chromium: apt-get install chromium
//! ```

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The window of a small laptop, and a narrow one.
const LAPTOP: (u32, u32) = (1200, 900);
const NARROW: (u32, u32) = (520, 900);

/// What a browser made of a page, and what it said meanwhile.
struct Loaded {
    dom: String,
    log: String,
}

fn load(page: &Path, (width, height): (u32, u32)) -> Loaded {
    let profile = TempDir::new().unwrap();
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--virtual-time-budget=3000",
        ])
        .args(["--enable-logging=stderr", "--v=0", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={width},{height}"))
        .arg(url(page))
        // It keeps things at home, too; that may be a place where nobody can write.
        .env("HOME", profile.path())
        .stdin(Stdio::null())
        .output()
        .expect("chromium, the browser, is needed for this test: apt-get install chromium");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let loaded = Loaded { dom: text(output.stdout), log: text(output.stderr) };
    assert!(output.status.success(), "{}", loaded.log);
    loaded
}

/// Where a file is, for a browser: with `%` and two digits for whatever could mean something in a URL.
fn url(path: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let digits = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|&byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    format!("file://{}", digits.collect::<String>())
}

#[test]
fn names_of_files_become_urls() {
    assert_eq!(url(Path::new("/tmp/a b#c%/ä.html")), "file:///tmp/a%20b%23c%25/%C3%A4.html");
}

/// What is wrong with a page about these stores, as far as a browser can tell.
fn complaints(loaded: &Loaded, stores: [&str; 4]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut check = |is_fine: bool, what: String| {
        if !is_fine {
            complaints.push(what);
        }
    };
    let (dom, log) = (&loaded.dom, &loaded.log);
    for line in log.lines().filter(|line| line.contains(":CONSOLE")) {
        check(false, format!("in the console: {line}"));
    }
    let root = dom.split_once("<html").map_or("", |(_, rest)| rest.split('>').next().unwrap_or(""));
    check(!root.contains("data-error"), format!("a script failed: {root}"));
    check(root.contains("data-ready"), format!("the script did not come to its end: {root}"));
    for id in ["plot-time", "plot-lookups", "plot-speed", "plot-cold", "plot-space"] {
        let figure = dom.split_once(&format!("id=\"{id}\"")).map_or("", |(_, rest)| rest);
        let figure = figure.split("</figure>").next().unwrap_or("");
        check(figure.contains("<svg"), format!("there is no plot in {id}"));
        for store in stores {
            check(figure.contains(&format!(">{store}</text>")), format!("no {store} in {id}"));
        }
        let lines = figure.matches("<polyline").count();
        let expected = match id {
            "plot-time" => 8, // for wide pages and for narrow ones
            "plot-space" => 0,
            _ => 4,
        };
        check(lines == expected, format!("{lines} lines in {id}, not {expected}"));
        check(
            !figure.contains("NaN") && !figure.contains("inf,"),
            format!("places that are no numbers in {id}"),
        );
    }
    complaints
}

#[test]
#[ignore = "needs chromium: apt-get install chromium, then cargo test -p twiceshy-cli --test page -- --ignored"]
fn the_page_has_its_plots_and_no_script_fails() {
    check(&[], ["adaptive", "Bloom", "quotient", "no filter"]);
}

#[test]
#[ignore = "needs chromium: apt-get install chromium, then cargo test -p twiceshy-cli --test page -- --ignored"]
fn the_page_of_ranges_has_its_plots_and_no_script_fails() {
    check(&["--ranges"], ["adaptive", "prefix Bloom", "range", "no filter"]);
}

fn check(args: &[&str], stores: [&str; 4]) {
    let folder = TempDir::new().unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_twiceshy"))
        .args(["race", "--keys", "3000", "--queries", "5000", "--error-rate", "0.01"])
        .args(args)
        .arg("--out")
        .arg(folder.path())
        // On a disk, so that there is a plot of cold files, too.
        .args(["--dir", env!("CARGO_TARGET_TMPDIR")])
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let page = folder.path().join("race.html");
    assert_eq!(complaints(&load(&page, LAPTOP), stores), [""; 0]);

    // Where things are, told by a script that the page does not have.
    let told = |script: &str, window| {
        let page = folder.path().join("told.html");
        let script = format!("<script>document.documentElement.dataset.told = {script};</script></body>");
        fs::write(
            &page,
            fs::read_to_string(folder.path().join("race.html")).unwrap().replace("</body>", &script),
        )
        .unwrap();
        let dom = load(&page, window).dom;
        let rest = dom.split_once("data-told=\"").expect("the script was run").1.to_owned();
        rest.split('"').next().unwrap().to_owned()
    };
    let bottom = "Math.ceil(document.querySelector('#plot-time svg.wide').getBoundingClientRect().bottom)";
    let bottom: u32 = told(bottom, LAPTOP).parse().unwrap();
    assert!((300..LAPTOP.1).contains(&bottom), "the main plot ends at {bottom}, below the fold");
    for window in [LAPTOP, NARROW] {
        let lines = "Array.from(document.querySelectorAll('pre span'), part => part.getClientRects().length)";
        let lines = told(lines, window);
        assert!(
            lines.len() > 10 && lines.split(',').all(|lines| lines == "1"),
            "an option is broken: {lines}"
        );
        let wider =
            told("document.documentElement.scrollWidth - document.documentElement.clientWidth", window);
        assert_eq!(wider, "0", "the page is wider than its window");
        // Every text of a plot is within it.
        let outside = "Array.from(document.querySelectorAll('figure svg text')).filter(text => { \
            const [it, all] = [text, text.ownerSVGElement].map(part => part.getBoundingClientRect()); \
            return it.left < all.left - 1 || it.right > all.right + 1; }).map(text => text.textContent).join()";
        assert_eq!(told(outside, window), "", "texts that leave their plots");
    }

    // The test can fail: a script error, an error that comes later, and a plot that is missing.
    let original = fs::read_to_string(&page).unwrap();
    let broken = |from: &str, to: &str| {
        assert!(original.contains(from));
        let page = folder.path().join("broken.html");
        fs::write(&page, original.replacen(from, to, 1)).unwrap();
        complaints(&load(&page, LAPTOP), stores).join("; ")
    };
    let early = broken("\"use strict\";", "\"use strict\"; missing();");
    assert!(early.contains("did not come to its end") && early.contains("in the console"), "{early}");
    let late = broken("root.dataset.ready", "setTimeout(function () { missing(); }, 10); root.dataset.ready");
    assert!(late.contains("a script failed"), "{late}");
    let missing = broken("id=\"plot-speed\"", "id=\"plot-none\"");
    assert!(missing.contains("no plot in plot-speed"), "{missing}");
}
