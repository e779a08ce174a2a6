//! Laws of prices, over books that are made up.

use super::*;
use proptest::prelude::*;
use schema::units::NANO_PER_GPU_HOUR;

/// The decimal of 1e-6.
fn micros(value: i64) -> String {
    format!("{}.{:06}", value / 1_000_000, value % 1_000_000)
}

fn of(book: &PriceBook, model: &'static str, profile: &'static str, share: Share) -> Rate {
    Ask { model, profile, share, ..Ask::default() }.of(|asked| book.rate(asked).expect("a price"))
}

proptest! {
    #[test]
    fn a_discount_is_within_half_of_the_last_decimal_and_never_negative(
        price in 0i64..100_000_000_000, percent_e4 in 0i64..=1_000_000,
    ) {
        let percent = format!("{}.{:04}", percent_e4 / 10_000, percent_e4 % 10_000);
        let text = format!(
            "[[price]]\nid = \"p\"\nmodel = \"H100\"\nper_gpu_hour = \"{}\"\nfrom = 2026-01-01\n[[discount]]\nid = \"d\"\npercent = \"{percent}\"\nfrom = 2026-01-01\n",
            micros(price),
        );
        let rate = of(&book(&text), "H100", "", Share::WHOLE);
        prop_assert_eq!(rate.list.0, price);
        let exact_e6 = i128::from(price) * i128::from(1_000_000 - percent_e4);
        prop_assert!((i128::from(rate.price.0) * 1_000_000 - exact_e6).abs() <= 500_000);
        prop_assert!((0..=price).contains(&rate.price.0));
    }

    #[test]
    fn an_exchanged_price_is_within_half_of_the_last_decimal(
        price in 0i64..10_000_000_000, rate_e10 in 1i64..10_000_000_000_000,
    ) {
        let rate = format!("{}.{:010}", rate_e10 / 10_000_000_000, rate_e10 % 10_000_000_000);
        let text = format!(
            "[[price]]\nid = \"p\"\nmodel = \"H100\"\nper_gpu_hour = \"{}\"\ncurrency = \"EUR\"\nfrom = 2026-01-01\n[[exchange_rate]]\nfrom_currency = \"EUR\"\nto_currency = \"USD\"\nrate = \"{rate}\"\nsource = \"ECB\"\ndate = 2026-05-29\nfrom = 2026-01-01\n",
            micros(price),
        );
        let answer = of(&book(&text), "H100", "", Share::WHOLE).price;
        let exact_e16 = i128::from(price) * i128::from(rate_e10);
        prop_assert!((i128::from(answer.0) * 10_000_000_000 - exact_e16).abs() <= 5_000_000_000);
    }

    #[test]
    fn instances_that_fill_a_devices_memory_cost_the_device(
        price in 0i64..100_000_000,
        layout in prop::sample::select(vec![
            &[("1g.20gb", 1u32), ("3g.40gb", 3), ("2g.20gb", 2)][..],
            &[("3g.40gb", 3), ("4g.40gb", 4)],
            &[("1g.10gb", 1), ("1g.10gb", 1), ("2g.20gb", 2), ("3g.40gb", 3)],
            &[("7g.80gb", 7)],
        ]),
    ) {
        let text = format!(
            "[[price]]\nid = \"p\"\nmodel = \"*\"\nper_gpu_hour = \"{}\"\nfrom = 2026-01-01\n[[mig_factor]]\nmodel = \"*\"\npreset = \"memory-eighths\"\nfrom = 2026-01-01\n",
            micros(price),
        );
        let book = book(&text);
        // An hour of every instance, in 1e-15 of the currency times 7, so that nothing is rounded here.
        let cost_e7: i128 = layout.iter().map(|(profile, slices)| {
            let price = of(&book, "NVIDIA H100 80GB HBM3", profile, Share::new(*slices, 7)).price;
            i128::from(price.0) * i128::from(*slices) * i128::from(NANO_PER_GPU_HOUR)
        }).sum();
        let device_e7 = i128::from(price) * 7 * i128::from(NANO_PER_GPU_HOUR);
        // Every unit price is within half of its last decimal, and there are seven slices.
        prop_assert!((cost_e7 - device_e7).abs() <= 7 * i128::from(NANO_PER_GPU_HOUR) / 2);
    }

    #[test]
    fn any_text_is_a_book_or_an_error_that_names_the_file(text in "\\PC{0,200}", key in "[a-z_]{1,20}", value in "\\PC{0,20}") {
        let entry = format!("[[price]]\nid = \"a\"\nmodel = \"m\"\n{key} = {value:?}\nfrom = 2026-01-01\n");
        for text in [text, entry] {
            if let Err(error) = parse(&text) {
                prop_assert!(chain(&error).starts_with("prices.toml"), "{}", error);
            }
        }
    }
}
