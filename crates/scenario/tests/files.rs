//! The ready-to-run files, and that what is shown reads back.

mod common;

use common::{SMALL, catalogue, good, good_with, ready_to_run};
use narrows_scenario::{parse, schema};

#[test]
fn every_ready_to_run_file_is_valid_and_reads_back() {
    let files = ready_to_run();
    assert!(files.len() >= 9, "there are {} files", files.len());
    for (name, text) in files {
        let scenario = parse(&text, &name, &[], &catalogue()).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(format!("{}.toml", scenario.name), name, "the default name is the file's");
        assert!(!scenario.title.is_empty() && scenario.title != scenario.name, "{name} has a title");
        let shown = scenario.to_toml();
        let again = parse(&shown, &name, &[], &catalogue()).unwrap_or_else(|problems| panic!("{problems}\n{shown}"));
        assert_eq!(scenario, again, "{shown}");
        assert_eq!(again.to_toml(), shown);
    }
}

#[test]
fn show_me() {
    println!("{}", good(SMALL).to_toml());
    println!("{:#}", good_with(SMALL, &[("acns.v_p", "0.5")]).to_json());
    println!("{:#}", schema());
}
