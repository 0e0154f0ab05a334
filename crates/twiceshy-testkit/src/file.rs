//! Where the fields of a file are, and how to change them: docs/format.md once more, so that a change of the library
//! that is not a change of the format is noticed.

/// Where the fields of the header are.
pub mod field {
    /// Of the format, 2 bytes.
    pub const VERSION: usize = 8;
    /// Of the filter.
    pub const KIND: usize = 10;
    /// Which hash.
    pub const HASH: usize = 11;
    /// Of the first table.
    pub const QUOTIENT_BITS: usize = 12;
    /// Of the first table.
    pub const SLOT_BITS: usize = 13;
    /// Of the first table.
    pub const FLAGS: usize = 14;
    /// Of the first table.
    pub const OFFSET_MAX: usize = 15;
    /// Spill slots of the first table, 4 bytes.
    pub const SPILL: usize = 16;
    /// How far it may grow.
    pub const MAX_QUOTIENT_BITS: usize = 20;
    /// Zeros.
    pub const RESERVED: usize = 21;
    /// The hash key or seed, 16 bytes.
    pub const SECRET: usize = 24;
    /// Used slots of the first table, 8 bytes.
    pub const USED: usize = 40;
    /// Keys, 8 bytes.
    pub const LEN: usize = 48;
    /// Fingerprints, 8 bytes.
    pub const DISTINCT: usize = 56;
    /// Of all that follows the header, 8 bytes.
    pub const BODY_BYTES: usize = 64;
    /// Checksum of all that follows the header, 4 bytes.
    pub const BODY_SUM: usize = 72;
    /// What only one kind of filter has.
    pub const OWN: usize = 76;
    /// Of filters that rotate: the epoch, 4 bytes, and how many bits stay in it and in the next one.
    pub const EPOCH: usize = 92;
    /// Of filters that rotate: the first hash that is not in the next epoch.
    pub const FRONTIER: usize = 98;
    /// Zeros.
    pub const MORE_RESERVED: usize = 106;
    /// Checksum of the header so far, 4 bytes.
    pub const HEADER_SUM: usize = 124;
    /// Where the header ends.
    pub const BODY: usize = 128;
}

/// Where the parts of a block are, from its first byte on.
pub mod block {
    /// Slots that earlier blocks take.
    pub const OFFSET: usize = 0;
    /// A bit per quotient, 8 bytes.
    pub const OCCUPIED: usize = 1;
    /// A bit per slot, 8 bytes.
    pub const RUNEND: usize = 9;
    /// Behind the words that every block has.
    pub const SLOTS: usize = 17;
}

/// Writes a field.
pub fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

/// Reads a field of 8 bytes.
pub fn get(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Makes both checksums right again.
pub fn reseal(bytes: &mut [u8]) {
    let sum = crc32fast::hash(&bytes[field::BODY..]);
    put(bytes, field::BODY_SUM, &sum.to_le_bytes());
    let sum = crc32fast::hash(&bytes[..field::HEADER_SUM]);
    put(bytes, field::HEADER_SUM, &sum.to_le_bytes());
}

/// Slots that a fingerprint takes which is there so often, in a filter that counts.
pub fn slots_of(count: u64, slot_bits: u32) -> u64 {
    match count {
        0..=2 => count,
        3.. if slot_bits == 1 => 3 + 2 * u64::from((u128::from(count - 3) + 1).ilog2()) + 1,
        3.. => 3 + u64::from((count - 3).checked_ilog2().unwrap_or(0) / (slot_bits - 1)) + 1,
    }
}

/// What follows the filter in the file of a set that has so many rows, which are these bytes.
pub fn rows_of_set(count: u64, rows: &[u8]) -> Vec<u8> {
    let mut all = [&b"twsyrows"[..], &count.to_le_bytes(), &(rows.len() as u64).to_le_bytes()].concat();
    all.extend(crc32fast::hash(rows).to_le_bytes());
    all.extend(crc32fast::hash(&all).to_le_bytes());
    all.extend(rows);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_can_be_got_and_seals_hold() {
        let mut bytes = vec![7; 200];
        put(&mut bytes, field::LEN, &u64::MAX.to_le_bytes());
        assert_eq!(get(&bytes, field::LEN), u64::MAX);
        reseal(&mut bytes);
        let sealed = bytes.clone();
        reseal(&mut bytes);
        assert_eq!(bytes, sealed);
        bytes[150] ^= 1;
        reseal(&mut bytes);
        assert_ne!(bytes[..field::BODY], sealed[..field::BODY]);
    }

    #[test]
    fn counts_take_the_slots_of_the_format() {
        assert_eq!([0, 1, 2, 3, 4, 1 << 20].map(|count| slots_of(count, 5)), [0, 1, 2, 4, 4, 8]);
        assert_eq!([3, 4, 6].map(|count| slots_of(count, 1)), [4, 6, 8]);
    }
}
