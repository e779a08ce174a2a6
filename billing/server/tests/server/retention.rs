//! How long raw rows are kept: the default as the tables are made, another time as it is configured, and what is refused.

use super::close::append;
use crate::common::{full_hour, unmigrated};

#[tokio::test]
async fn raw_rows_are_kept_as_long_as_it_is_configured() {
    let store = unmigrated("retention").await;
    store.migrate(1).await.expect("migrates");
    assert_eq!(store.retain(13).await.expect("asked"), 0, "what the tables are made with is the default");
    assert_eq!(store.retain(120).await.expect("altered"), 6);
    assert_eq!(store.retain(120).await.expect("asked"), 0, "once");
    append(&store, &full_hour(7)).await;
    assert_eq!(store.retain(13).await.expect("altered back"), 6);
    assert_eq!(store.retain(13).await.expect("asked"), 0);
}

#[test]
fn a_retention_beyond_its_limits_is_refused_with_the_key() {
    for months in ["0", "121"] {
        let more = format!("[retention]\nslices_months = {months}\n");
        let config = super::command::configuration(&format!("retention-{months}"), &more);
        let output = super::command::slicemeter(&config, &["check-config"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("retention.slices_months: write 1 to 120 months"), "{said}");
    }
}
