//! `slicemeter check-config`.

use super::{Global, Outcome, load};

/// Reads the three files and says what they hold.
///
/// # Errors
/// The first thing wrong, with file, key and remedy.
pub fn run(global: &Global) -> anyhow::Result<Outcome> {
    let config = load(global)?;
    println!(
        "{}: fine. Zone {}, {}; {} prices, {} tenants, {} mapping rules.",
        global.config.display(),
        config.zone,
        config.currency.code(),
        config.prices.entries().len(),
        config.tenants.count(),
        config.tenants.rules().len(),
    );
    for entry in config.prices.entries() {
        if let Some(derivation) = entry.derivation() {
            println!("price {:?}: {derivation}", entry.id);
        }
    }
    Ok(Outcome::Done)
}
