//! Currencies by ISO 4217 code, with the number of decimals that their amounts are posted in.

use super::{Amount, MoneyError};
use serde::{Deserialize, Serialize};

/// Active ISO 4217 currencies whose smallest unit is a hundredth.
const HUNDREDTHS: &str = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD \
    CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF \
    IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN \
    MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD \
    SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG";
/// Without a smaller unit.
const WHOLE: &str = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF";
/// In thousandths.
const THOUSANDTHS: &str = "BHD IQD JOD KWD LYD OMR TND";

/// A currency: its ISO code and how many decimals its amounts have.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Currency {
    code: String,
    minor_digits: u32,
}

impl Currency {
    /// By its ISO 4217 code.
    ///
    /// # Errors
    /// A code that isn't an active currency.
    pub fn parse(code: &str) -> Result<Self, MoneyError> {
        let within = |list: &str| list.split_ascii_whitespace().any(|c| c == code);
        let minor_digits = match () {
            () if within(HUNDREDTHS) => 2,
            () if within(WHOLE) => 0,
            () if within(THOUSANDTHS) => 3,
            () => return Err(MoneyError::UnknownCurrency(code.into())),
        };
        Ok(Self { code: code.into(), minor_digits })
    }

    /// The ISO code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Decimals of a posted amount.
    pub fn minor_digits(&self) -> u32 {
        self.minor_digits
    }

    /// An amount for people, thousands separated by commas: `1,050.00`.
    pub fn show(&self, amount: Amount) -> String {
        let plain = self.plain(amount.0.unsigned_abs());
        let (whole, decimals) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
        let sign = if amount.0 < 0 { "-" } else { "" };
        format!("{sign}{}{decimals}", group_thousands(whole))
    }

    /// An amount for machines, without separators: `1050.00`.
    pub fn decimal(&self, amount: Amount) -> String {
        let sign = if amount.0 < 0 { "-" } else { "" };
        format!("{sign}{}", self.plain(amount.0.unsigned_abs()))
    }

    fn plain(&self, minor: u64) -> String {
        if self.minor_digits == 0 {
            return minor.to_string();
        }
        let unit = 10u64.pow(self.minor_digits);
        let width = usize::try_from(self.minor_digits).expect("a few digits");
        format!("{}.{:0width$}", minor / unit, minor % unit)
    }
}

/// Commas between groups of three digits; the text must be digits only.
pub(crate) fn group_thousands(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

impl TryFrom<String> for Currency {
    type Error = MoneyError;
    fn try_from(code: String) -> Result<Self, MoneyError> {
        Self::parse(&code)
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> String {
        currency.code
    }
}
