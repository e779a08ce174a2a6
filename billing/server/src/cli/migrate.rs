//! `slicemeter migrate`.

use super::{Global, Outcome, load_and_open};

/// Brings the database up to date.
///
/// # Errors
/// The store can't be opened or migrated.
pub async fn run(global: &Global) -> anyhow::Result<Outcome> {
    let (_, opened) = load_and_open(global).await?;
    opened.close().await;
    println!("the database has migration {:04}, the newest", schema::sql::MIGRATIONS.len());
    Ok(Outcome::Done)
}
