//! Transcripts: what each command really prints, on captured hosts. The README's are among them.
//!
//! `TRYCMD=overwrite cargo test -p swaptune --test transcripts` accepts what is printed now; read the difference.

#[test]
fn commands_print_what_their_transcripts_say() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::env::set_current_dir(root).unwrap();
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .case("crates/swaptune/tests/cli/*.trycmd")
        .case("README.md")
        .case("docs/guides/*.md");
}
