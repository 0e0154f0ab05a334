//! What may be a key, and which bytes it has.
//!
//! A filter never sees a value, only the *canonical bytes* of a key. Equal bytes are one key, and
//! a type's bytes never change: not between platforms, versions of Rust or versions of this crate.
//! So a file written on one machine answers for the same keys on another. [`Key`] lists the bytes
//! of every type and is open for your own; [`KeyBuffer`] joins several parts into one key.
//!
//! # Cost
//!
//! Strings and byte slices are borrowed, integers become an array on the stack. A tuple is copied
//! into a [`KeyBuffer`], which allocates only beyond 64 bytes.
//!
//! # Where it comes from
//!
//! Lengths in front of the parts are the usual way to make an encoding injective. The lengths are
//! LEB128, the variable-length integers of DWARF and WebAssembly.
//!
//! # Example
//!
//! ```
//! use twiceshy::{Hasher, Key};
//!
//! let hasher = Hasher::fast();
//! assert_eq!(hasher.hash("cat"), hasher.hash(&b"cat".to_vec()));
//! assert_ne!(hasher.hash(&1u32), hasher.hash(&1u64));
//! assert_ne!(hasher.hash(&("a", "bc")), hasher.hash(&("ab", "c")));
//!
//! assert_eq!(("a", 258u16).key_bytes().as_ref(), [1, b'a', 2, 2, 1]);
//! ```

use crate::bits::word::in_two_registers;
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// A value that a filter can hold: anything with canonical bytes.
///
/// Two values with equal bytes are one key, whatever their types are.
///
/// | type | canonical bytes |
/// |---|---|
/// | `[u8]`, `[u8; N]`, `Vec<u8>` | the bytes |
/// | `str`, `String` | the UTF-8 bytes |
/// | `u8` to `u128`, `i8` to `i128` | little-endian, as wide as the type: `1u32` and `1u64` differ |
/// | `usize`, `isize` | as `u64` and `i64`, on every platform |
/// | `bool` | one byte, 0 or 1 |
/// | `char` | as `u32` |
/// | tuples of 1 to 6 keys | for each component its length (LEB128), then its bytes |
/// | `&T`, `&mut T`, `Box<T>`, `Rc<T>`, `Arc<T>`, `Cow<T>` | those of `T` |
///
/// The lengths make tuples self-delimiting: `("a", "bc")` and `("ab", "c")` differ, and so do
/// `(x,)` and `x`. Nothing else is marked with its type: `"a"` and `97u8` are the same key, so keep
/// one type of key in one filter, or tell the types apart with a tuple: `(0u8, name)` and
/// `(1u8, number)`. Floats are left out, because values that compare equal (`0.0` and `-0.0`) have
/// different bytes; use `to_bits` if that suits you.
///
/// # Why not `std::hash::Hash`
///
/// What [`Hash`](std::hash::Hash) feeds to a hasher is not specified. It may change between
/// versions of Rust, depends on the platform's byte order and pointer width, and differs for a
/// `str` and its bytes. That is fine for a map in memory and wrong for a file.
///
/// # Implementing it
///
/// Return the bytes by reference or by value. They must not change while the key is in a filter,
/// and two values that should count as different keys must have different bytes. A fixed-size
/// array does for fixed-size fields; [`KeyBuffer`] joins fields of any length without ambiguity.
///
/// ```
/// use twiceshy::key::KeyBuffer;
/// use twiceshy::Key;
///
/// struct Pixel {
///     x: u16,
///     y: u16,
/// }
///
/// impl Key for Pixel {
///     fn key_bytes(&self) -> impl AsRef<[u8]> {
///         let ([a, b], [c, d]) = (self.x.to_le_bytes(), self.y.to_le_bytes());
///         [a, b, c, d]
///     }
/// }
///
/// struct Account {
///     tenant: String,
///     number: u64,
/// }
///
/// impl Key for Account {
///     fn key_bytes(&self) -> impl AsRef<[u8]> {
///         let mut bytes = KeyBuffer::new();
///         bytes.push(&self.tenant);
///         bytes.push(&self.number);
///         bytes
///     }
/// }
///
/// let pixel = Pixel { x: 1, y: 2 };
/// assert_eq!(pixel.key_bytes().as_ref(), [1, 0, 2, 0]);
///
/// let account = Account { tenant: "acme".into(), number: 7 };
/// assert_eq!(account.key_bytes().as_ref(), ("acme", 7u64).key_bytes().as_ref());
/// ```
pub trait Key {
    /// The canonical bytes of this key.
    ///
    /// They depend on the value alone: not on the platform, the process or the version.
    fn key_bytes(&self) -> impl AsRef<[u8]>;
}

/// How the bytes of types are made.
macro_rules! keys {
    ($($($type:ty),+ => |$key:ident| $bytes:expr;)+) => {$($(
        impl Key for $type {
            #[inline]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                let $key = self;
                $bytes
            }
        }
    )+)+};
}

keys! {
    [u8], Vec<u8>, str, String => |key| key;
    u8, u16, u32, u64, i8, i16, i32, i64 => |key| key.to_le_bytes();
    u128 => |key| in_two_registers(*key).to_le_bytes();
    i128 => |key| in_two_registers(key.cast_unsigned()).to_le_bytes();
    usize => |key| (*key as u64).to_le_bytes();
    isize => |key| (*key as i64).to_le_bytes();
    bool => |key| [u8::from(*key)];
    char => |key| u32::from(*key).to_le_bytes();
}

impl<const N: usize> Key for [u8; N] {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self
    }
}

/// Pointers: the bytes of what they point to.
macro_rules! pointer_keys {
    ($($pointer:ty),*) => {$(
        impl<T: Key + ?Sized> Key for $pointer {
            #[inline]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                (**self).key_bytes()
            }
        }
    )*};
}

pointer_keys!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

impl<T: Key + ToOwned + ?Sized> Key for Cow<'_, T> {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        (**self).key_bytes()
    }
}

/// Tuples: each component's length, then its bytes.
macro_rules! tuple_keys {
    ($(($($component:ident . $index:tt),+))*) => {$(
        impl<$($component: Key),+> Key for ($($component,)+) {
            #[inline]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                let mut bytes = KeyBuffer::new();
                $(bytes.push(&self.$index);)+
                bytes
            }
        }
    )*};
}

tuple_keys! {
    (A.0)
    (A.0, B.1)
    (A.0, B.1, C.2)
    (A.0, B.1, C.2, D.3)
    (A.0, B.1, C.2, D.3, E.4)
    (A.0, B.1, C.2, D.3, E.4, F.5)
}

/// Bytes that fit here need no allocation.
const INLINE_BYTES: usize = 64;

/// The canonical bytes of a key made of several parts.
///
/// Each part is stored as its length (LEB128: seven bits per byte, lowest first, the top bit says
/// that more follow) and its bytes, so different sequences of parts have different bytes. A tuple
/// has exactly the bytes of its components pushed in order. Up to 64 bytes lie in the buffer
/// itself; more move to the heap.
///
/// ```
/// use twiceshy::key::KeyBuffer;
/// use twiceshy::Key;
///
/// let mut path = KeyBuffer::new();
/// for part in ["usr", "lib"] {
///     path.push(part);
/// }
/// assert_eq!(path.as_ref(), b"\x03usr\x03lib");
/// assert_eq!(path.as_ref(), ("usr", "lib").key_bytes().as_ref());
/// ```
#[derive(Clone, Debug)]
pub struct KeyBuffer {
    inline: [u8; INLINE_BYTES],
    /// How many bytes of `inline` are used; means nothing once `spilled` holds the bytes.
    inline_len: usize,
    /// All bytes, as soon as they are more than `inline` holds; empty before.
    spilled: Vec<u8>,
}

impl KeyBuffer {
    /// A buffer without parts.
    #[inline]
    pub const fn new() -> Self {
        Self { inline: [0; INLINE_BYTES], inline_len: 0, spilled: Vec::new() }
    }

    /// Appends one part: its length, then its bytes.
    #[inline]
    pub fn push<K: Key + ?Sized>(&mut self, part: &K) {
        let part = part.key_bytes();
        let bytes = part.as_ref();
        let mut length = bytes.len();
        while length >= 0x80 {
            self.append(&[length as u8 | 0x80]);
            length >>= 7;
        }
        self.append(&[length as u8]);
        self.append(bytes);
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        if self.spilled.is_empty() {
            let end = self.inline_len + bytes.len();
            if let Some(free) = self.inline.get_mut(self.inline_len..end) {
                free.copy_from_slice(bytes);
                self.inline_len = end;
                return;
            }
        }
        self.append_spilled(bytes);
    }

    #[cold]
    fn append_spilled(&mut self, bytes: &[u8]) {
        if self.spilled.is_empty() {
            self.spilled.reserve(self.inline_len + bytes.len());
            self.spilled.extend(&self.inline[..self.inline_len]);
        }
        self.spilled.extend(bytes);
    }
}

impl Default for KeyBuffer {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl AsRef<[u8]> for KeyBuffer {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        if self.spilled.is_empty() { &self.inline[..self.inline_len] } else { &self.spilled }
    }
}

/// A buffer is a key too: the bytes it holds.
impl Key for KeyBuffer {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.as_ref()
    }
}

/// The bytes of a key in a message: as text, if they are some and not longer than a line.
///
/// ```
/// use twiceshy::key::show;
///
/// assert_eq!(show(b"ant"), "\"ant\"");
/// assert_eq!(show(&[0xff; 200]).split(',').next(), Some("of 200 bytes that begins with [ff"));
/// ```
pub fn show(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if text.len() <= 100 => format!("{text:?}"),
        _ => format!("of {} bytes that begins with {:02x?}", key.len(), &key[..key.len().min(16)]),
    }
}
