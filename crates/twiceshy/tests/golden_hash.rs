//! The hash output is part of the file format: these values must never change.
//!
//! A filter on disk holds prefixes of `H(x)`. If a word below differs, every stored filter answers
//! "no" for keys it holds. Do not update the values: bring the old hash back, or add a new kind of
//! hasher beside it.

use twiceshy::hash::HashKey;
use twiceshy::{Hasher, Key};

/// The words of `H(x)` that are pinned: both halves of two blocks, and one further on.
const PINNED: [u32; 5] = [0, 1, 2, 3, 5];

/// One key, and for each hasher of [`hashers`] but the last one the words [`PINNED`].
struct Golden {
    name: &'static str,
    bytes: Vec<u8>,
    words: [[u64; PINNED.len()]; 3],
}

fn hashers() -> [(&'static str, Hasher); 4] {
    let key = HashKey::from_bytes(std::array::from_fn(|i| i as u8));
    [
        ("SipHash 00 01 .. 0f", Hasher::siphash(key.clone())),
        ("fast seed 0", Hasher::fast()),
        ("fast seed 1", Hasher::fast_with_seed(1)),
        ("AES 00 01 .. 0f", Hasher::aes(key)),
    ]
}

fn golden<K: Key + ?Sized>(name: &'static str, key: &K, words: [[u64; 5]; 3]) -> Golden {
    let bytes = key.key_bytes().as_ref().to_vec();
    Golden { name, bytes, words }
}

fn kilobyte() -> Vec<u8> {
    (0..1024u32).map(|i| (i * 31 + i / 256) as u8).collect()
}

fn all_golden() -> Vec<Golden> {
    vec![
        golden(
            "the empty key",
            "",
            [
                [
                    0xbea5_8827_b2bc_7ee7,
                    0x0130_30dd_6adb_62fd,
                    0xf6fa_1474_9cce_d3a2,
                    0x70b8_57c3_b838_51ad,
                    0x555b_e1d2_ca07_abd4,
                ],
                [
                    0x880c_2674_d4e1_03b9,
                    0x81da_be3e_c9f5_1f60,
                    0xf3dc_cf19_b45c_20f8,
                    0xbe53_2463_6212_52ef,
                    0x035b_906f_d252_dfc4,
                ],
                [
                    0x07fd_349f_f7c9_c037,
                    0x68a6_e778_b2ab_9d84,
                    0x36de_5070_fb10_ba25,
                    0xc324_1511_5d14_ec4c,
                    0x7501_87b9_4f16_92ed,
                ],
            ],
        ),
        golden(
            "\"a\"",
            "a",
            [
                [
                    0xa84f_7c63_de37_3c08,
                    0x678a_ae37_5dd7_2f49,
                    0x44c3_5145_5836_5e1e,
                    0xb1b1_c32a_ed60_7fad,
                    0x1a84_4f49_db16_61ec,
                ],
                [
                    0x5075_7f77_4c30_8d7f,
                    0xa1ad_c66f_d828_0a6e,
                    0xb2a3_563b_368b_6316,
                    0x27fa_5843_e514_c6d9,
                    0x4d96_b123_396b_4b6f,
                ],
                [
                    0xb62e_e69f_12ce_28a5,
                    0x5da5_8a92_b948_0911,
                    0x9308_97e0_69f1_8d7a,
                    0x0fca_3c5b_c22e_6d27,
                    0xcb5c_e64e_aed7_847e,
                ],
            ],
        ),
        golden(
            "\"cat and dog\"",
            "cat and dog",
            [
                [
                    0x82b4_7fbb_c0d5_314a,
                    0x7378_4bbd_c280_5c50,
                    0xa974_085b_2dd9_48da,
                    0xe82a_8b83_9744_4e8d,
                    0x2845_7b52_18d3_c695,
                ],
                [
                    0x8b91_4c33_2046_4915,
                    0x9046_86dc_251b_0b86,
                    0xdd96_45a5_28d0_df02,
                    0xd449_5aba_201c_ff68,
                    0xc7f3_bbc9_0081_482d,
                ],
                [
                    0x93f4_99df_4955_60e9,
                    0x4c06_c835_f0d9_d109,
                    0x9fce_073e_7177_715c,
                    0xb9d9_cf23_94c5_78d9,
                    0x783f_917a_e81d_a4b9,
                ],
            ],
        ),
        golden(
            "1u64",
            &1u64,
            [
                [
                    0x7c2f_445a_3046_29bd,
                    0xebcb_f88d_7287_3601,
                    0x3a2d_b253_44f0_aa36,
                    0xdde1_376d_7991_eb2c,
                    0x4efa_825d_4843_701f,
                ],
                [
                    0xd8e2_855f_3dbd_ae37,
                    0x2c96_5456_40ea_ba3b,
                    0x3b9c_0dca_8641_cd9a,
                    0xf650_de2c_6f53_e583,
                    0xc2d1_99ec_adf7_08c8,
                ],
                [
                    0x91be_68a8_1951_3644,
                    0x2418_9c79_fe3e_c259,
                    0x53e5_e824_2219_bfe1,
                    0x7740_914b_113f_b583,
                    0x99fe_e14d_945d_b7c9,
                ],
            ],
        ),
        golden(
            "u64::MAX",
            &u64::MAX,
            [
                [
                    0x772d_5bb1_d8d6_400b,
                    0x565d_dd71_bb9a_0caf,
                    0x37e4_fa2f_0a6a_ae5e,
                    0x9b0a_1d3c_0d02_433b,
                    0x20e6_3e1a_d43a_1309,
                ],
                [
                    0x4345_5d2f_dbd2_69b2,
                    0x2225_e896_76af_0774,
                    0x81ac_c8e0_5051_e148,
                    0x9a6e_911a_1999_b4f7,
                    0xe345_a55d_147d_b105,
                ],
                [
                    0x3003_6318_c99c_2220,
                    0xf3ac_f620_cb3b_88d0,
                    0xc724_dbd6_c7eb_98ba,
                    0x424e_f0c4_48a7_8f10,
                    0xd965_84b2_bcf1_bfe0,
                ],
            ],
        ),
        golden(
            "0x0123456789abcdefu64",
            &0x0123_4567_89ab_cdef_u64,
            [
                [
                    0xe73a_7f7c_4f73_e4ae,
                    0x6ac8_ac46_399f_bddb,
                    0x0198_8da7_5ecf_fb5c,
                    0x6feb_b633_f64d_8f54,
                    0xc994_4d1e_b0f9_7c50,
                ],
                [
                    0xadc4_2f6b_98eb_d6bc,
                    0x9b08_7a7e_ad8f_f608,
                    0x5785_e853_70e3_fa5e,
                    0xcc54_5408_89d5_74ed,
                    0x48ac_7b74_4302_e626,
                ],
                [
                    0xe502_006b_fc98_47be,
                    0xce77_c3c2_f5b4_a965,
                    0x70b9_4c3b_386e_7f86,
                    0x0e36_6632_ed88_dc37,
                    0x16ab_b8f1_0c18_e846,
                ],
            ],
        ),
        golden(
            "1u32",
            &1u32,
            [
                [
                    0xc14f_ae0e_71ad_d26c,
                    0xf308_1ca4_aaf2_eea1,
                    0xda66_9210_3e90_0524,
                    0xf9c3_80f5_99d8_09f4,
                    0x1b50_b965_a630_c8f0,
                ],
                [
                    0xf73a_1f96_c68a_27ac,
                    0x4276_452d_0614_062d,
                    0xc5fb_4a43_77c1_cd94,
                    0x35b7_c821_eb66_3fab,
                    0x458e_49ed_27f2_2a93,
                ],
                [
                    0xb341_1c35_fd91_fc91,
                    0xad97_f88a_fa31_a437,
                    0x18a9_5ed2_61d5_568f,
                    0x57fa_db51_ceb5_700f,
                    0x5646_02ac_3dd8_8098,
                ],
            ],
        ),
        golden(
            "-1i128",
            &-1i128,
            [
                [
                    0x4a92_b927_885c_684f,
                    0x347b_130e_c922_6f6b,
                    0xd04c_dad4_59a6_a9c5,
                    0x5b93_bff4_266e_0ebe,
                    0x4b9d_8869_08a5_4a36,
                ],
                [
                    0xd359_beb4_fec2_f7b6,
                    0xf00f_c0d2_b3ea_a165,
                    0x7942_48f8_4e84_2d05,
                    0xb68a_9958_b34f_ea44,
                    0xf2b6_605d_5c41_c534,
                ],
                [
                    0x398a_2443_eb8f_7de1,
                    0x61e6_208a_8c7c_bee9,
                    0x8055_d8e4_5c13_a563,
                    0xaaf3_b254_fe7c_3c7e,
                    0xc337_9400_40a3_5e73,
                ],
            ],
        ),
        golden(
            "(\"a\", \"bc\", 7u16)",
            &("a", "bc", 7u16),
            [
                [
                    0x0f3d_34af_f53c_e8b1,
                    0xcbc8_b940_bae4_3119,
                    0x28c4_5c45_be5a_0cb2,
                    0x4274_c082_e1d1_7463,
                    0x477a_e0dc_eadd_a4ef,
                ],
                [
                    0xde58_adaa_c8cd_a194,
                    0xbb2e_fddf_9a76_7153,
                    0x9d1a_bb33_b4c6_ffca,
                    0xc681_732b_a078_0339,
                    0xb810_0e0e_30f3_5c5d,
                ],
                [
                    0x143b_aeb0_d5a6_777d,
                    0x8f77_acdc_4451_7f9b,
                    0x6fdc_dee1_449b_8d6d,
                    0xbc33_73b7_b394_b2a1,
                    0x2ac4_dfe6_11aa_504a,
                ],
            ],
        ),
        golden(
            "40 bytes",
            &kilobyte()[..40],
            [
                [
                    0x8334_1d72_96cb_4af5,
                    0x7746_06fb_009e_6e91,
                    0xf38a_021c_a32b_c39f,
                    0x47b1_5cde_ba4b_504b,
                    0x4d6e_3105_0748_4e39,
                ],
                [
                    0x694a_4876_b7d7_4c5b,
                    0x2a47_e7c9_327c_f674,
                    0x01fb_f4cf_62c0_18f5,
                    0xff1b_9b18_753b_e69b,
                    0x4793_2e9e_2258_e1f2,
                ],
                [
                    0xfddd_edbe_043c_c1d9,
                    0x3be4_058c_b898_0bb2,
                    0x4845_17aa_a0b1_afec,
                    0x01ba_7231_dc45_eed1,
                    0x635f_7f66_aeaa_b1f0,
                ],
            ],
        ),
        golden(
            "a kilobyte",
            &kilobyte(),
            [
                [
                    0xe32b_025d_d39e_e446,
                    0x773b_b8ba_dd25_6dc5,
                    0xf772_3387_f01d_82a9,
                    0x286f_35be_e714_13fc,
                    0x1a0c_918c_7673_bdc4,
                ],
                [
                    0x9d35_269e_614b_28da,
                    0xdf37_6d01_afd4_9847,
                    0xf701_17e0_6011_8eef,
                    0x352c_dc5e_2330_4617,
                    0xa9e7_04c8_852e_ccf0,
                ],
                [
                    0x6c33_1e2f_ffc2_6e8d,
                    0x1dd3_a33c_1ce7_906a,
                    0x03dd_c274_e2a5_0fe0,
                    0x1377_f754_9bc5_eab9,
                    0xa699_abda_cb5e_f540,
                ],
            ],
        ),
    ]
}

/// The words [`PINNED`] under AES of the first bytes of [`kilobyte`], as many as stand there: around the ends of a word, of a
/// block and of short keys. They come from a program of their own, in another language.
const GOLDEN_AES: [(usize, [u64; PINNED.len()]); 9] = [
    (
        0,
        [
            0x5622_a691_f8c1_515f,
            0xfff0_2a64_12ef_2c33,
            0x8707_0db0_2e2a_6b50,
            0x30c2_f7d5_62e7_6cbe,
            0x320f_dc56_3ddb_2b25,
        ],
    ),
    (
        1,
        [
            0xebfc_9898_2865_cd14,
            0x1ef3_57ba_2260_5be8,
            0x2530_5aa7_572b_9cc4,
            0x1739_115d_28c7_fdfd,
            0x0ffc_bc9f_225a_2353,
        ],
    ),
    (
        7,
        [
            0x891b_1869_efe5_6c9e,
            0x2931_b96c_4a64_0c34,
            0xa6a9_6fd5_8e76_9bdd,
            0xb1a7_58dd_1b09_4e1e,
            0xa2e0_bf58_7992_312e,
        ],
    ),
    (
        8,
        [
            0x6e1e_3c08_6692_2d05,
            0xb815_5604_f2ec_9050,
            0x3af7_f707_bd18_917e,
            0xb96d_2c48_58e5_3f56,
            0x4d1a_937d_3234_cc2a,
        ],
    ),
    (
        15,
        [
            0xee5a_2027_7842_526a,
            0x06cc_bb74_adc4_467b,
            0x9696_1207_5e91_a4eb,
            0xb4e2_9373_8686_18a2,
            0x8f42_3ba8_cdd0_5fe4,
        ],
    ),
    (
        16,
        [
            0x3da2_3235_fa01_0cb2,
            0xf691_24aa_a203_b910,
            0xce06_ed09_cf4c_18be,
            0x1fa6_7ec8_001c_5b5f,
            0xfda8_5164_ae72_81f5,
        ],
    ),
    (
        17,
        [
            0xb55b_68d6_6a1e_6a38,
            0x44a2_8381_9c06_bb98,
            0x0116_acbf_1ed5_41fa,
            0x4352_1fd2_f698_6f56,
            0xbcb4_90f7_0834_518e,
        ],
    ),
    (
        32,
        [
            0x8879_67d6_8df6_541b,
            0x93bc_a0ce_6cbd_1394,
            0x9a01_7360_8424_23ef,
            0xdf1b_0a80_ef5a_d6e0,
            0x987a_1a31_1681_64fa,
        ],
    ),
    (
        600,
        [
            0x5daf_09d7_8e88_5eb9,
            0x483b_ded8_d43b_77a8,
            0x381e_094c_d7ee_037a,
            0x44a8_f602_4598_c7ae,
            0x04f4_ac7e_132d_c8af,
        ],
    ),
];

#[test]
fn files_on_disk_keep_their_hashes() {
    for golden in all_golden() {
        for ((hasher_name, hasher), words) in hashers().iter().zip(golden.words) {
            check(hasher, &golden.bytes, words, &format!("{} under {hasher_name}", golden.name));
        }
    }
    let [.., (_, aes)] = hashers();
    for (len, words) in GOLDEN_AES {
        check(&aes, &kilobyte()[..len], words, &format!("{len} bytes under AES"));
    }
}

fn check(hasher: &Hasher, bytes: &[u8], words: [u64; PINNED.len()], what: &str) {
    for (index, word) in PINNED.into_iter().zip(words) {
        let now = hasher.word_bytes(bytes, index);
        assert!(
            now == word,
            "word {index} of {what} is {now:#018x}, was {word:#018x}: filters on disk would lose their keys",
        );
    }
}

#[test]
fn word_zero_is_the_hash() {
    for golden in all_golden() {
        for (name, hasher) in hashers() {
            let hash = hasher.hash_bytes(&golden.bytes);
            assert_eq!(hash, hasher.hash(&golden.bytes), "{name}");
            assert_eq!(hash, hasher.word(&golden.bytes, 0), "{name}");
            assert_eq!(hash, hasher.word_bytes(&golden.bytes, 0), "{name}");
        }
    }
}

#[test]
fn all_words_of_all_keys_differ() {
    let mut words = Vec::new();
    for golden in all_golden() {
        for (_, hasher) in hashers() {
            words.extend((0..64).map(|index| hasher.word_bytes(&golden.bytes, index)));
            words.push(hasher.word_bytes(&golden.bytes, u32::MAX));
        }
    }
    let count = words.len();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), count, "64-bit words should not repeat");
}

#[test]
fn every_bit_is_a_fair_coin() {
    const KEYS: u32 = 20_000;
    for (name, hasher) in hashers() {
        for index in PINNED {
            let mut ones = [0u32; 64];
            for key in 0..KEYS {
                let word = hasher.word(&u64::from(key), index);
                for (bit, ones) in ones.iter_mut().enumerate() {
                    *ones += (word >> bit) as u32 & 1;
                }
            }
            // Seven standard deviations of a binomial distribution.
            let slack = (7.0 * f64::from(KEYS).sqrt() / 2.0) as u32;
            for (bit, ones) in ones.into_iter().enumerate() {
                assert!(
                    ones.abs_diff(KEYS / 2) < slack,
                    "bit {bit} of word {index} under {name}: {ones} ones of {KEYS}",
                );
            }
        }
    }
}
