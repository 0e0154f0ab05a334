//! The CPU's instruction set, chosen at run time and once per operation.
//!
//! Users build for the baseline of their platform, so the fast instructions (`pdep`, `popcnt`,
//! `lzcnt`, `shlx`, `aesenc`, vectors) must be found at run time. Asking before every single instruction would
//! cost more than it saves; a whole operation (a query, an insert, a batch) is therefore written once as
//! a [`Kernel`], generic over the [`Cpu`], and compiled twice. [`dispatch`] picks one of the two.
//!
//! On AMD processors before Zen 3 `pdep` is microcoded and slow, but correct.
//!
//! Building with `--cfg twiceshy_portable` leaves only the portable version; the tests run both ways.

#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::aes::Aes128;
use super::parity;
use super::select::{self, Between};
use super::vectors::Vectors;

/// What a kernel may ask of the CPU beyond plain arithmetic.
pub(crate) trait Cpu: Copy {
    /// Position of the set bit of `word` with `k` (at most 63) set bits below it, or 64.
    fn select(self, word: u64, k: u32) -> u32;
    /// [`select`](Cpu::select) for `k` (at most 63) and `k + 1`. What does not exist is 64 as the first
    /// answer and -1 (as a `u32`) as the second.
    fn select_two(self, word: u64, k: u32) -> (u32, u32);
    /// What lies between these two bits, if it is `wanted`; else nothing does.
    fn between(self, word: u64, k: u32, wanted: bool) -> Between;
    /// The bits of `word` at the places of `mask`, which are neighbours, as a number.
    fn field(self, word: u64, mask: u64) -> u64;
    /// AES-128 of a block, XORed with a mask before; `None` if there are no instructions for it, or the key is not for
    /// them.
    fn aes128(self, key: &Aes128, block: u128, mask: &u128) -> Option<u128>;
    /// Whether there are fields that [`insert_field`](Cpu::insert_field) inserts.
    const INSERTS_FIELDS: bool;
    /// Inserts a field at a bit of the fields of a block, if that can be done without a loop whose end nobody guesses; see
    /// [`vectors`](super::vectors).
    fn insert_field(self, vectors: &Vectors, block: &mut [u8], header: usize, bit: u32, value: u64) -> bool;
    /// Which of sixteen sums of bits are odd; see [`parity`].
    fn parities(self, bytes: &[u8], stride: usize, mask: u64) -> u64;
    /// Runs a kernel in a function of its own: for the parts of an operation that are rarely needed
    /// and would bloat the others.
    fn outlined<K: Kernel>(self, kernel: K) -> K::Output;
}

/// Any CPU.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Cpu for Portable {
    const INSERTS_FIELDS: bool = false;
    #[inline(always)]
    fn select(self, word: u64, k: u32) -> u32 {
        select::portable(word, k)
    }
    #[inline(always)]
    fn select_two(self, word: u64, k: u32) -> (u32, u32) {
        select::portable_two(word, k)
    }
    #[inline(always)]
    fn between(self, word: u64, k: u32, wanted: bool) -> Between {
        select::portable_between(word, k, wanted)
    }
    #[inline(always)]
    fn field(self, word: u64, mask: u64) -> u64 {
        // No bits are the number 0, whatever the shift.
        (word & mask).wrapping_shr(mask.trailing_zeros())
    }
    #[inline(always)]
    fn aes128(self, _: &Aes128, _: u128, _: &u128) -> Option<u128> {
        None
    }
    #[inline(always)]
    fn insert_field(self, _: &Vectors, _: &mut [u8], _: usize, _: u32, _: u64) -> bool {
        false
    }
    #[inline(always)]
    fn parities(self, bytes: &[u8], stride: usize, mask: u64) -> u64 {
        parity::portable(bytes, stride, mask)
    }
    #[inline(never)]
    fn outlined<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
}

/// A CPU with BMI2, AVX2 and AES-NI, as nearly all have since 2013. A value of this type is proof that the running CPU
/// is one.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Fast(());

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "calls functions compiled for such CPUs; the value is the proof")]
impl Cpu for Fast {
    const INSERTS_FIELDS: bool = true;
    #[inline(always)]
    fn select(self, word: u64, k: u32) -> u32 {
        // SAFETY: a `Fast` is made only in `dispatch`, after `is_fast`.
        unsafe { select::bmi2(word, k) }
    }
    #[inline(always)]
    fn select_two(self, word: u64, k: u32) -> (u32, u32) {
        // SAFETY: a `Fast` is made only in `dispatch`, after `is_fast`.
        unsafe { select::bmi2_two(word, k) }
    }
    #[inline(always)]
    fn between(self, word: u64, k: u32, wanted: bool) -> Between {
        // SAFETY: a `Fast` is made only in `dispatch`, after `is_fast`.
        unsafe { select::bmi2_between(word, k, wanted.into()) }
    }
    #[inline(always)]
    fn field(self, word: u64, mask: u64) -> u64 {
        // SAFETY: a `Fast` is made only in `dispatch`, after `is_fast`.
        unsafe { core::arch::x86_64::_pext_u64(word, mask) }
    }
    #[inline(always)]
    fn aes128(self, key: &Aes128, block: u128, mask: &u128) -> Option<u128> {
        let Aes128::Rounds(keys) = key else { return None };
        // SAFETY: a `Fast` is made only in `dispatch`, after `is_fast`.
        Some(unsafe { super::aes::rounds(keys, block, mask) })
    }
    #[inline(always)]
    fn insert_field(self, vectors: &Vectors, block: &mut [u8], header: usize, bit: u32, value: u64) -> bool {
        // SAFETY: a `Fast` is made only in `dispatch`, after `is_fast`.
        unsafe { vectors.insert(block, header, bit, value) }
    }
    #[inline(always)]
    fn parities(self, bytes: &[u8], stride: usize, mask: u64) -> u64 {
        // SAFETY: a `Fast` is made only in `dispatch`, after `is_fast`.
        unsafe { parity::avx2(bytes, stride, mask) }
    }
    #[inline(always)]
    fn outlined<K: Kernel>(self, kernel: K) -> K::Output {
        // `cold` does it: beside `target_feature`, rustc 1.95 drops `inline(never)`.
        #[cold]
        #[inline(never)]
        #[target_feature(enable = "aes,avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn outlined<K: Kernel>(kernel: K, cpu: Fast) -> K::Output {
            kernel.run(cpu)
        }
        // SAFETY: a `Fast` is made only in `dispatch`, after `is_fast`.
        unsafe { outlined(kernel, self) }
    }
}

/// Work that is compiled once per instruction set.
///
/// `run` must be `#[inline(always)]`: only what is inlined into the entry points below is compiled
/// for their instruction set.
pub(crate) trait Kernel {
    type Output;
    fn run<C: Cpu>(self, cpu: C) -> Self::Output;
}

/// Whether the running CPU is a [`Fast`] one: what [`is_fast`] has found out.
#[cfg(target_arch = "x86_64")]
static FAST: AtomicU8 = AtomicU8::new(UNKNOWN);
#[cfg(target_arch = "x86_64")]
const UNKNOWN: u8 = 0;
#[cfg(target_arch = "x86_64")]
const YES: u8 = 1;
#[cfg(target_arch = "x86_64")]
const NO: u8 = 2;

/// From now on every operation of this process runs as on a CPU that has none of the fast instructions: for measuring what
/// such a CPU would do. Filters that are there already stay valid.
pub fn without_fast_instructions() {
    #[cfg(target_arch = "x86_64")]
    FAST.store(NO, Relaxed);
}

/// Whether the running CPU has all that a [`Fast`] one has. After the first call this is one load.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn is_fast() -> bool {
    #[cold]
    fn detect() -> bool {
        let yes = std::arch::is_x86_feature_detected!("aes")
            && std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("lzcnt")
            && std::arch::is_x86_feature_detected!("popcnt");
        FAST.store(if yes { YES } else { NO }, Relaxed);
        yes
    }

    match FAST.load(Relaxed) {
        YES => true,
        UNKNOWN => detect(),
        _ => false,
    }
}

/// Runs `kernel` in the version for this CPU.
#[inline(always)]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(all(target_arch = "x86_64", not(twiceshy_portable)))]
    if is_fast() {
        #[expect(unsafe_code, reason = "enters code compiled for such CPUs")]
        // SAFETY: `is_fast` checked every feature that `run_fast` enables.
        return unsafe { run_fast(kernel) };
    }
    Portable.outlined(kernel)
}

#[cfg(all(target_arch = "x86_64", not(twiceshy_portable)))]
#[target_feature(enable = "aes,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_fast<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(Fast(()))
}
