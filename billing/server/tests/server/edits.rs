//! Edits of the configuration of a running service: what is taken, and what leaves the version in force.

use schema::window::Window;
use server::config::{Loaded, load};

const TENANTS: &str = "[[tenant]]\nid = \"vision\"\n[[pool]]\nname = \"spot\"\nnodes = \"spot-*\"\n[[rule]]\ntenant = \"vision\"\nmatch = { namespace = \"v\" }\n";

fn price(id: &str, price: &str, rest: &str) -> String {
    format!("[[price]]\nid = \"{id}\"\nmodel = \"H100\"\nper_gpu_hour = \"{price}\"\n{rest}\n")
}

fn loaded(directory: &std::path::Path, prices: &str) -> Loaded {
    let files = [
        ("slicemeter.toml", "billing_zone = \"UTC\"\ncurrency = \"USD\"\n"),
        ("tenants.toml", TENANTS),
        ("prices.toml", prices),
    ];
    for (name, text) in files {
        std::fs::write(directory.join(name), text).expect("written");
    }
    load(&directory.join("slicemeter.toml")).expect("loads")
}

#[test]
fn an_edit_is_refused_where_a_price_jumped_or_names_what_the_other_file_lacks() {
    let directory = tempfile::tempdir().expect("a directory");
    let spot = price("h100-spot", "1.50", "pool = \"spot\"\nfrom = 2026-01-01");
    let book = price("h100", "3.50", "from = 2026-01-01") + &spot;
    let before = loaded(directory.path(), &book);
    let now = billing::instant::parse("2026-06-15", before.zone).expect("an instant");
    let metered = Window::new(now - 30 * 24 * 3_600_000, now);
    let edit = |name, text: &str| before.edited(name, text, metered).map_err(|error| error.to_string());

    let next =
        |cost: &str, rest: &str| book.clone() + &price("next", cost, &format!("from = 2026-07-01\n{rest}"));
    assert!(edit("prices.toml", &next("3.36", "")).is_ok());
    let jumped = edit("prices.toml", &next("336", "")).expect_err("a slipped point");
    for part in
        ["prices.toml: price \"next\" of model \"H100\"", "336.00", "3.50", "add jump_confirmed = true"]
    {
        assert!(jumped.contains(part), "{jumped} lacks {part}");
    }
    assert!(edit("prices.toml", &next("336", "jump_confirmed = true")).is_ok());
    // What is metered has its price, unless it is said why not.
    let dearer = edit("prices.toml", &book.replace("3.50", "3.60")).expect_err("no reason");
    for part in ["prices.toml: price of model \"H100\": from", "3.50", "3.60", "entry = \"h100\" and reason"]
    {
        assert!(dearer.contains(part), "{dearer} lacks {part}");
    }
    let why = "[[change]]\nentry = \"h100\"\nreason = \"typed wrong\"\n";
    assert!(edit("prices.toml", &(book.replace("3.50", "3.60") + why)).is_ok());

    // What would happen may be asked of any price.
    assert!(before.with("prices.toml", &next("336", "")).is_ok());

    let unpooled =
        edit("tenants.toml", &TENANTS.replace("\"spot\"", "\"other\"")).expect_err("prices name it");
    assert!(unpooled.contains("price \"h100-spot\" names pool \"spot\""), "{unpooled}");
    let nobody = edit("prices.toml", &price("own", "3", "tenant = \"nobody\"\nfrom = 2026-01-01"));
    assert!(nobody.expect_err("no such tenant").contains("add a [[tenant]] of this id"));
}
