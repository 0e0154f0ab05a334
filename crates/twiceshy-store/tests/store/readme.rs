//! The README shows a program that is built and run elsewhere: it stores in a folder that all runs share, and so do all
//! users of a machine, which is nothing for a test.

#[test]
fn the_readme_shows_the_example() {
    let example = include_str!("../../examples/squares.rs");
    let program = &example[example.find("use twiceshy_store").unwrap()..];
    let readme = include_str!("../../../../README.md");
    assert!(readme.contains(&format!("```rust,no_run\n{program}```\n")), "README.md differs from {program}");
}
