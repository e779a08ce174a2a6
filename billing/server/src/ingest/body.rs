//! From the bytes of a request to encoded batches, with a limit on both sides of the decompression.

use prost::Message;
use schema::wire::{DELIVERY_BYTES_MAX, RawDelivery};
use std::io::Read;

/// zstd windows up to 8 MiB: what a collector's encoder uses at any level, and a bound on what a hostile frame can make us
/// allocate.
const WINDOW_LOG_MAX: u32 = 23;

/// Why a body isn't a delivery.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// Not zstd, cut short, or with a window past the limit.
    #[error("the body is not a whole zstd frame: {0}")]
    NotZstd(String),
    /// More than the limit once decompressed.
    #[error(
        "the delivery is larger than {DELIVERY_BYTES_MAX} bytes before compression: send fewer batches at a time"
    )]
    TooLarge,
    /// Not protobuf.
    #[error("the body is not a delivery: {0}")]
    NotADelivery(String),
}

/// The encoded batches of a compressed delivery.
///
/// # Errors
/// See [`BodyError`]; a delivery as a whole is refused only where its batches can't be told apart.
pub fn batches(compressed: &[u8]) -> Result<Vec<Vec<u8>>, BodyError> {
    let not_zstd = |error: std::io::Error| BodyError::NotZstd(error.to_string());
    let mut decoder = zstd::stream::read::Decoder::with_buffer(compressed).map_err(not_zstd)?.single_frame();
    decoder.window_log_max(WINDOW_LOG_MAX).map_err(not_zstd)?;
    let mut bytes = Vec::new();
    let limit = u64::try_from(DELIVERY_BYTES_MAX).expect("fits") + 1;
    decoder.by_ref().take(limit).read_to_end(&mut bytes).map_err(not_zstd)?;
    if bytes.len() > DELIVERY_BYTES_MAX {
        return Err(BodyError::TooLarge);
    }
    if !decoder.finish().is_empty() {
        // Skippable frames give nothing and cost time; a collector sends one frame.
        return Err(BodyError::NotZstd("bytes follow the first frame".into()));
    }
    let delivery = RawDelivery::decode(&bytes[..]).map_err(|e| BodyError::NotADelivery(e.to_string()))?;
    Ok(delivery.batches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::wire::frame_batch;

    #[test]
    fn a_bomb_is_refused_at_the_limit() {
        let bomb = zstd::encode_all(&vec![0u8; DELIVERY_BYTES_MAX * 4][..], 3).expect("encodes");
        assert!(bomb.len() < 100_000);
        assert_eq!(batches(&bomb), Err(BodyError::TooLarge));
    }

    #[test]
    fn what_is_not_one_whole_frame_is_refused() {
        let mut framed = Vec::new();
        frame_batch(&mut framed, b"x");
        let whole = zstd::encode_all(&framed[..], 1).expect("encodes");
        assert_eq!(batches(&whole), Ok(vec![b"x".to_vec()]));
        assert!(matches!(batches(&whole[..whole.len() - 1]), Err(BodyError::NotZstd(_))));
        assert!(matches!(batches(b"{}"), Err(BodyError::NotZstd(_))));
        // A skippable frame yields nothing and burns time.
        let skippable = [&0x184D_2A50_u32.to_le_bytes()[..], &4u32.to_le_bytes(), b"skip"].concat();
        assert!(matches!(batches(&[whole, skippable].concat()), Err(BodyError::NotZstd(_))));
    }
}
