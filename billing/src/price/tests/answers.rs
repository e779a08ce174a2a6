//! Which entry is the price, and what it comes to for whom.

use super::*;

fn entry(id: &str, price: &str, rest: &str) -> String {
    format!(
        "[[price]]\nid = \"{id}\"\nmodel = \"H100\"\nper_gpu_hour = \"{price}\"\nfrom = 2026-01-01\n{rest}\n"
    )
}

#[test]
fn the_most_exact_name_that_holds_wins() {
    let text = [
        price("any", "*", "from = 2026-01-01"),
        price("family", "NVIDIA H100*", "from = 2026-01-01"),
        price("one", "NVIDIA H100 NVL", "from = 2026-02-01\nto = 2026-03-01"),
    ]
    .concat();
    let book = book(&text);
    for (model, at, want) in [
        ("NVIDIA H100 NVL", "2026-02-15", "one"),
        ("NVIDIA H100 NVL", "2026-03-01", "family"),
        ("Tesla T4", "2026-03-01", "any"),
    ] {
        assert_eq!(
            Ask { model, at, ..Ask::default() }.rate(&book),
            format!("{want}: 3.50 of 3.50 per GPU-h")
        );
    }
}

#[test]
fn a_price_that_is_missing_says_why_and_is_never_zero() {
    let book = book(
        &[
            price("old", "H100", "from = 2026-01-01\nto = 2026-02-01"),
            price("low", "A100", "from = 2026-01-01\nqos = \"low\""),
        ]
        .concat(),
    );
    assert_eq!(Ask::default().rate(&book), "NotAtThisTime");
    assert_eq!(Ask { model: "A100", ..Ask::default() }.rate(&book), "NotForThis");
    assert_eq!(Ask { model: "B200", ..Ask::default() }.rate(&book), "UnknownModel");
    assert_eq!(Ask::default().rate(&PriceBook::empty()), "UnknownModel");
}

#[test]
fn the_nearest_tenant_goes_before_classes_and_these_before_profile_and_model() {
    let text = [
        entry("list", "9.00", ""),
        entry("gold", "8.00", "priority_class = \"gold\""),
        entry("golden", "7.00", "priority_class = \"gold*\""),
        entry("low", "6.00", "qos = [\"low\", \"scavenger\"]"),
        entry("batch", "5.50", "partition = \"batch\""),
        entry("spot", "5.00", "pool = \"spot\""),
        entry("mig-any", "4.60", "profile = \"*\""),
        entry("mig", "4.50", "profile = \"1g.*\""),
        entry("mig-one", "4.00", "profile = \"1g.10gb\""),
        entry("research", "3.00", "tenant = \"research\""),
        entry("vision-low", "2.00", "tenant = \"vision\"\nqos = \"low\""),
        price("exact", "H100 NVL", "from = 2026-01-01"),
        price("low-nvl", "H100*", "from = 2026-01-01\nqos = \"low\""),
    ]
    .concat();
    let book = book(&text);
    let outsider = || Ask { tenant: "sales", ..Ask::default() };
    let entry_of = |ask: Ask| ask.rate(&book).split(':').next().unwrap_or_default().to_string();
    for (ask, want) in [
        (outsider(), "list"),
        (Ask { attributes: &[("priority_class", "gold")], ..outsider() }, "gold"),
        (Ask { attributes: &[("priority_class", "gold-2")], ..outsider() }, "golden"),
        (Ask { attributes: &[("priority_class", "gold"), ("slurm_qos", "low")], ..outsider() }, "gold"),
        (Ask { attributes: &[("slurm_qos", "scavenger")], ..outsider() }, "low"),
        (Ask { attributes: &[("slurm_partition", "batch")], node: "spot-1", ..outsider() }, "batch"),
        (Ask { node: "spot-1", ..outsider() }, "spot"),
        (Ask { profile: "1g.10gb", share: Share::new(1, 7), ..outsider() }, "mig-one"),
        (Ask { profile: "1g.20gb", share: Share::new(1, 7), ..outsider() }, "mig"),
        (Ask { profile: "2g.20gb", share: Share::new(2, 7), ..outsider() }, "mig-any"),
        (Ask { tenant: "speech", attributes: &[("slurm_qos", "low")], ..Ask::default() }, "research"),
        (Ask { attributes: &[("slurm_qos", "low")], ..Ask::default() }, "vision-low"),
        (Ask::default(), "research"),
        (Ask { model: "H100 NVL", ..outsider() }, "exact"),
        (Ask { model: "H100 NVL", attributes: &[("slurm_qos", "low")], ..outsider() }, "low-nvl"),
    ] {
        assert_eq!(entry_of(ask), want);
    }
    assert_eq!(Ask::default().rate(&book), "research: 3.00 of 9.00 per GPU-h");
    // Without an owner, no class is known.
    let unknown = Ask { attributes: &[("slurm_qos", "low")], ..outsider() };
    let entry = unknown.of(|asked| book.rate(&Asked { owner: None, ..*asked }).expect("a price").entry);
    assert_eq!(entry, "list");
}

#[test]
fn contracted_is_list_less_the_nearest_discount_and_discounts_do_not_add_up() {
    let text = entry("list", "3.333333", "")
        + r#"
        [[discount]]
        id = "all"
        percent = "5"
        from = 2026-01-01
        [[discount]]
        id = "research"
        tenant = "research"
        percent = "12.5"
        from = 2026-01-01
        [[discount]]
        id = "vision"
        tenant = "vision"
        model = "H*"
        percent = 20
        from = 2026-06-01
    "#;
    let mut book = book(&text);
    let of = |tenant, at, book: &PriceBook| Ask { tenant, at, ..Ask::default() }.rate(book);
    assert_eq!(of("sales", "2026-06-15", &book), "list: 3.166666 of 3.333333 per GPU-h");
    assert_eq!(of("speech", "2026-06-15", &book), "list: 2.916666 of 3.333333 per GPU-h");
    assert_eq!(of("vision", "2026-06-15", &book), "list: 2.666666 of 3.333333 per GPU-h");
    assert_eq!(of("vision", "2026-05-15", &book), "list: 2.916666 of 3.333333 per GPU-h");
    // A later discount makes a later price.
    let from = |at| Ask { at, ..Ask::default() }.of(|asked| book.rate(asked).expect("a price").from_ms);
    assert_eq!((from("2026-05-15"), from("2026-06-15")), (at("2026-01-01"), at("2026-06-01")));
    // A contracted price is absolute.
    book = super::book(&(text + &entry("own", "3.00", "tenant = \"vision\"")));
    assert_eq!(of("vision", "2026-06-15", &book), "own: 3.00 of 3.333333 per GPU-h");
}

#[test]
fn a_mig_profile_costs_its_slices_or_what_a_factor_says_and_a_slot_its_part() {
    let list = "[[price]]\nid = \"list\"\nmodel = \"*\"\nper_gpu_hour = \"3.60\"\nfrom = 2026-01-01\n";
    let eighths =
        "[[mig_factor]]\nmodel = \"NVIDIA H100*\"\npreset = \"memory-eighths\"\nfrom = 2026-01-01\n";
    let listed = "[[mig_factor]]\nmodel = \"NVIDIA H100 NVL\"\nprofiles = { \"1g.12gb\" = \"0.15\" }\nfrom = 2026-01-01\n";
    let book = book(&[list, eighths, listed].concat());
    let price = |model, profile, num, den| {
        let share = Share::new(num, den);
        Ask { model, profile, share, ..Ask::default() }.of(|asked| book.rate(asked).expect("a price").price)
    };
    let h100 = "NVIDIA H100 80GB HBM3";
    for (model, profile, num, den, want) in [
        (h100, "", 1, 1, "3.60"),
        // 1/8 of the price for what counts as 1/7 of the device.
        (h100, "1g.10gb", 1, 7, "3.15"),
        (h100, "1g.10gb", 1, 14, "3.15"),
        (h100, "1g.20gb", 1, 7, "6.30"),
        (h100, "2g.20gb", 2, 7, "3.15"),
        (h100, "3g.40gb", 3, 7, "4.20"),
        (h100, "1c.3g.40gb", 1, 7, "4.20"),
        (h100, "4g.40gb", 4, 7, "3.15"),
        (h100, "7g.80gb", 1, 1, "3.60"),
        (h100, "strange", 1, 7, "3.60"),
        ("NVIDIA H100 NVL", "1g.12gb", 1, 7, "3.78"),
        ("NVIDIA H100 NVL", "1c.1g.12gb", 1, 7, "3.78"),
        ("NVIDIA H100 NVL", "2g.24gb", 2, 7, "3.60"),
        ("NVIDIA A30", "1g.6gb", 1, 4, "3.60"),
    ] {
        assert_eq!(price(model, profile, num, den).to_string(), want, "{model} {profile} {num}/{den}");
    }
    let told = |profile| {
        Ask { model: h100, profile, share: Share::new(1, 7), ..Ask::default() }
            .of(|asked| book.derivation(asked, Measure::Time, 0))
    };
    assert_eq!(
        told("1g.10gb"),
        ["list 3.60 per GPU-hour: 3.60", "x 1/8 / (1/7) for 1g.10gb, memory eighths (mig_factor 1) = 3.15"]
    );
    assert_eq!(
        told("strange")[1],
        "x 1/7 / (1/7) for strange, whose memory is not known, so by compute slices (mig_factor 1) = 3.60"
    );
}

#[test]
fn mig_instances_of_one_device_cost_it_and_so_does_the_single_strategy() {
    use crate::money::Exact;
    use schema::units::NanoGpuHours;
    let book = book("[[price]]\nid = \"list\"\nmodel = \"*\"\nper_gpu_hour = \"3.60\"\nfrom = 2026-01-01\n");
    let hour = 1_000_000_000u64;
    for shares in [&[1u64, 2, 4][..], &[1; 7]] {
        let parts = schema::share::split_largest_remainder(hour, shares);
        let cost = |(slices, nano): (&u64, &u64)| {
            let share = Share::new(u32::try_from(*slices).expect("slices"), 7);
            let ask = Ask { profile: "1g.10gb", share, ..Ask::default() };
            let price = ask.of(|asked| book.rate(asked).expect("a price").price);
            Exact::of(NanoGpuHours(i64::try_from(*nano).expect("an hour")), price)
        };
        let all: Exact = shares.iter().zip(&parts).map(cost).sum();
        assert_eq!(all.round_half_even(&usd()), crate::money::Amount(360));
    }
}

#[test]
fn an_instance_has_a_price_of_its_own_and_stands_beside_the_list() {
    let text = entry("list", "3.50", "")
        + "[[price]]\nid = \"inst\"\nmodel = \"H100\"\nprofile = \"3g.40gb\"\ntenant = \"vision\"\nper_instance_hour = \"1.40\"\nfrom = 2026-01-01\n";
    let ask = Ask { profile: "3g.40gb", share: Share::new(3, 7), ..Ask::default() };
    assert_eq!(ask.rate(&book(&text)), "inst: 1.40 of 1.50 per inst-h");
    // One of two slots of it pays half for its hour.
    let slot = Ask { profile: "3g.40gb", share: Share::new(3, 14), ..Ask::default() };
    assert_eq!(slot.rate(&book(&text)), "inst: 0.70 of 0.75 per inst-h");
    let told = slot.of(|asked| book(&text).derivation(asked, Measure::Time, 0));
    assert_eq!(told[1], "x (3/14) / (3/7), its part of the instance = 0.70");
}

#[test]
fn tiers_are_priced_through_the_same_discounts() {
    let text = "[[price]]\nid = \"t\"\nmodel = \"H100\"\ntier_mode = \"graduated\"\nfrom = 2026-01-01\ntiers = [{ up_to = \"1000\", per_gpu_hour = \"3.50\" }, { up_to = 2000.5, per_gpu_hour = \"3.00\" }, { per_gpu_hour = \"2.00\" }]\n[[discount]]\nid = \"d\"\npercent = \"10\"\nfrom = 2026-01-01\n";
    let text = text.replace("2000.5", "\"2000.5\"");
    let book = book(&text);
    let told = |tier| Ask::default().of(|asked| book.derivation(asked, Measure::Time, tier));
    let prices: Vec<String> = (0..4).map(|tier| told(tier).pop().expect("a discount")).collect();
    let less = |price| format!("less 10 % by discount d = {price}");
    assert_eq!(prices, ["3.15", "2.70", "1.80", "1.80"].map(less));
    let tiers = book.tiers("t").expect("tiers");
    assert_eq!((tiers.mode, tiers.tiers[1].up_to_nano), (TierMode::Graduated, Some(2_000_500_000_000)));
    assert_eq!(
        book.entries()[0].describe(),
        "3.50 up to 1000, 3.00 up to 2000.5, 2.00 above per GPU-hour, graduated"
    );
    assert_eq!(book.tiers("nothing"), None);
}
