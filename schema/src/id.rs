//! Identities, parsed once and typed from then on.

use serde::{Deserialize, Serialize};

/// A random 128-bit number minted each time a collector starts: rows of two starts can never share a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u128);

/// A workload: the first 128 bits of the SHA-256 of its owner record's identity (see [`crate::owner`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadId(pub u128);

impl WorkloadId {
    /// Busy time with no process to be found: nobody's, and shown as `ghost`.
    pub const GHOST: WorkloadId = WorkloadId(1);

    /// From the 16 big-endian bytes of the wire.
    ///
    /// # Errors
    /// A length other than 16.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadLength> {
        Ok(Self(u128::from_be_bytes(bytes.try_into().map_err(|_| BadLength(bytes.len()))?)))
    }

    /// The 16 big-endian bytes of the wire.
    pub fn to_bytes(self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }
}

impl Incarnation {
    /// From the 16 big-endian bytes of the wire.
    ///
    /// # Errors
    /// A length other than 16.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadLength> {
        Ok(Self(u128::from_be_bytes(bytes.try_into().map_err(|_| BadLength(bytes.len()))?)))
    }

    /// The 16 big-endian bytes of the wire.
    pub fn to_bytes(self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }
}

/// An identity that isn't 16 bytes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an identity has 16 bytes, this one has {0}")]
pub struct BadLength(pub usize);

macro_rules! hex_id {
    ($name:ident) => {
        /// 32 lower-case hexadecimal digits.
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{:032x}", self.0)
            }
        }
        impl std::str::FromStr for $name {
            type Err = std::num::ParseIntError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                u128::from_str_radix(text, 16).map(Self)
            }
        }
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
hex_id!(Incarnation);
hex_id!(WorkloadId);
