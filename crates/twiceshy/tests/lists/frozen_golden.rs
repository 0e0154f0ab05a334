//! Files of frozen lists and of deltas: those that were ever released stay readable, and are written as they always were.
//!
//! `TWICESHY_WRITE_FIXTURES=1 cargo test -p twiceshy --test lists golden` writes files that are missing.

use std::fs;
use std::ops::Range;

use twiceshy::FrozenYesNoList;
use twiceshy::list::Delta;
use twiceshy_testkit::golden::{ADVICE, write_if_asked};

use super::golden::{absent, aes, keys, path};
use super::*;

/// A frozen list, and a delta that makes the next one of it.
struct Golden {
    name: &'static str,
    /// CRC-32 of the list and of the delta.
    sums: [u32; 2],
    /// How many of "absent 0" to "absent 999" are answered yes, before and after.
    mistakes: [usize; 2],
    hasher: fn() -> Hasher,
    rate: f64,
    /// Numbers of the keys on either list, before and after.
    yes: [Range<u32>; 2],
    no: [Range<u32>; 2],
}

const FILES: [Golden; 5] = [
    Golden {
        name: "frozen-empty",
        sums: [0x6628_b609, 0xb625_5f93],
        mistakes: [0, 2],
        hasher: aes,
        rate: 0.01,
        yes: [0..0, 0..3],
        no: [0..0, 3..5],
    },
    // One ribbon to a stage, and no columns in the first.
    Golden {
        name: "frozen-small",
        sums: [0xcba8_73f1, 0x2d05_a0b7],
        mistakes: [524, 526],
        hasher: aes,
        rate: 0.6,
        yes: [0..30, 0..35],
        no: [30..40, 35..45],
    },
    // Two ribbons to a stage, with codes; keys that have two equations; a delta of all that there is.
    Golden {
        name: "frozen-large",
        sums: [0xc79f_3515, 0xeec3_dc51],
        mistakes: [44, 44],
        hasher,
        rate: 0.05,
        yes: [0..1_400, 1_000..2_200],
        no: [1_400..2_000, 0..700],
    },
    // So many NO keys that some keys go past the first ribbon of the exact stage.
    Golden {
        name: "frozen-past",
        sums: [0xc68e_b1d2, 0x0d90_faea],
        mistakes: [25, 25],
        hasher: aes,
        rate: 0.05,
        yes: [0..700, 5..705],
        no: [1_000..12_000, 1_000..12_000],
    },
    // More columns than are summed up at once.
    Golden {
        name: "frozen-columns",
        sums: [0x95b3_3439, 0xc304_ebee],
        mistakes: [0; 2],
        hasher: || Hasher::fast_with_seed(7),
        rate: 1e-7,
        yes: [0..200, 0..210],
        no: [200..300, 210..300],
    },
];

impl Golden {
    fn list(&self) -> FrozenYesNoList {
        let builder = FrozenYesNoList::builder().error_rate(self.rate).hasher((self.hasher)());
        builder.build(keys(self.yes[0].clone()), keys(self.no[0].clone())).unwrap()
    }

    fn check(&self, list: &FrozenYesNoList, step: usize) -> usize {
        let name = self.name;
        assert!(keys(self.yes[step].clone()).all(|key| list.query(&key).is_yes()), "{name}. {ADVICE}");
        assert!(keys(self.no[step].clone()).all(|key| list.query(&key).is_no()), "{name}. {ADVICE}");
        (0..1_000).filter(|number| list.query(&absent(*number)).is_yes()).count()
    }
}

#[test]
fn golden_files_hold_what_was_put_in_and_are_written_as_they_were() {
    let mut wrong = Vec::new();
    for golden in &FILES {
        let name = golden.name;
        let built = golden.list();
        let delta = built.delta(keys(golden.yes[1].clone()), keys(golden.no[1].clone())).unwrap();
        let files = [path(name), path(name).with_extension("delta")];
        for (path, bytes) in files.iter().zip([built.to_bytes(), delta.to_bytes()]) {
            write_if_asked(path, || bytes.clone());
            let stored = fs::read(path).unwrap();
            assert!(stored == bytes, "{} is written differently. {ADVICE}", path.display());
            assert!(stored.len() < 4096, "{} is large: {} bytes", path.display(), stored.len());
        }
        let mut list =
            FrozenYesNoList::load(&files[0]).unwrap_or_else(|error| panic!("{name}: {error}. {ADVICE}"));
        let before = golden.check(&list, 0);
        assert_eq!(list.name(), built.name(), "{name}. {ADVICE}");
        list.apply(Delta::load(&files[1]).unwrap_or_else(|error| panic!("{name}: {error}. {ADVICE}")))
            .unwrap();
        let mistakes = [before, golden.check(&list, 1)];
        let sums = files.map(|path| crc32fast::hash(&fs::read(path).unwrap()));
        if (sums, mistakes) != (golden.sums, golden.mistakes) {
            wrong.push(format!("{name}: checksums {sums:#010x?} and mistakes {mistakes:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}. {ADVICE}");
    let files = fs::read_dir(path("frozen-empty").parent().unwrap()).unwrap();
    let is_frozen = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("frozen-");
    let files = files.map(|entry| entry.unwrap().file_name()).filter(is_frozen).count();
    assert_eq!(files, 2 * FILES.len(), "all are listed");
}
