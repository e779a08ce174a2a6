//! Identities that derive from names, the same at every start: UUIDs, boot ids, seeds.

/// FNV-1a with a final mix: good enough to tell things apart, and it never changes under us.
pub fn hash(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

/// A version-4-shaped UUID that derives from these names.
pub fn uuid(parts: &[&str]) -> String {
    let high = hash(parts);
    let low = hash(&[&["uuid"], parts].concat());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff
    )
}
