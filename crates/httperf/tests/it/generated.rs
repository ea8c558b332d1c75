//! The generated documents are up to date.

#[test]
fn generated_documents_are_up_to_date() {
    let stale = xtask::stale_files();
    assert!(stale.is_empty(), "stale: {}; run `cargo xtask generate`", stale.join(", "));
}
