//! The methods of every filter that is stored, as users meet them.

/// Gives a [`Stored`](super::Stored) filter its methods for bytes and files, its view, and `serde`: the type, its view,
/// what it is in words, lines of an example that make a `filter`, and a query that it answers with `true`. A type that is for
/// keys of one type says which they can be, and which the example has.
macro_rules! stored {
    (
        $filter:ident $(<$key:ident: $bound:ident = $typical:ident>)?,
        $view:ident, $what:literal, $($example:literal,)+ => $query:literal
    ) => {
        impl<$($key: $bound + ?Sized,)? B: AsRef<[u8]>> $filter<$($key,)? B> {
            /// Writes the filter in the format of `docs/format.md`, with its hash key: treat the bytes as a secret.
            ///
            /// Growth that is under way goes on when the filter was read. Statistics are not written.
            pub fn write_to(&self, writer: impl std::io::Write) -> std::io::Result<()> {
                $crate::persist::write(self, writer)
            }

            /// The bytes that [`write_to`](Self::write_to) writes.
            pub fn to_bytes(&self) -> Vec<u8> {
                $crate::persist::to_bytes(self)
            }

            /// Saves the filter to a file that only its owner can read. The file is complete or the old one of the same
            /// name is untouched, whatever happens on the way.
            ///
            /// ```
            /// # use twiceshy::*;
            $(#[doc = $example])+
            /// # let folder = tempfile::tempdir()?;
            /// # let path = folder.path().join("seen.twiceshy");
            /// filter.save(&path)?;
            #[doc = concat!("let copy = ", stringify!($filter $(::<$typical>)?), "::load(&path)?;")]
            #[doc = concat!("assert!(copy.", $query, ");")]
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn save(
                &self,
                path: impl AsRef<std::path::Path>,
            ) -> Result<(), $crate::error::SaveError> {
                $crate::persist::save(self, path.as_ref())
            }

            /// Checks every invariant of the tables, of their entries and of the counts; says what is wrong. Reads
            /// everything.
            ///
            /// A filter that was built, read or loaded is valid, whatever was done with it since; a view may be anything.
            /// Whether a key is missing, only who has the keys can tell.
            pub fn validate(&self) -> Result<(), String> {
                $crate::persist::Stored::validate(self)
            }
        }

        impl$(<$key: $bound + ?Sized>)? $filter$(<$key>)? {
            /// Reads a filter and checks it completely. Reads no byte after its end.
            ///
            /// ```
            /// # use twiceshy::*;
            $(#[doc = $example])+
            /// let mut bytes = Vec::new();
            /// filter.write_to(&mut bytes)?;
            #[doc = concat!("let copy = ", stringify!($filter $(::<$typical>)?), "::read_from(bytes.as_slice())?;")]
            #[doc = concat!("assert!(copy.", $query, ");")]
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn read_from(reader: impl std::io::Read) -> Result<Self, $crate::error::ReadError> {
                $crate::persist::read(reader)
            }

            /// Reads a filter from bytes that hold it and nothing else.
            pub fn from_bytes(bytes: &[u8]) -> Result<Self, $crate::error::ReadError> {
                $crate::persist::from_bytes(bytes)
            }

            #[doc = concat!("Reads a file written by [`save`](", stringify!($filter), "::save).")]
            pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, $crate::error::ReadError> {
                $crate::persist::load(path.as_ref())
            }

            /// A read-only filter over bytes in place, for example a mapped file. Takes no time, whatever the size: only
            /// the header is checked, and the directory if there is one. The bytes need no alignment.
            ///
            /// ```
            /// # use twiceshy::*;
            $(#[doc = $example])+
            /// let bytes = filter.to_bytes();
            #[doc = concat!("let view = ", stringify!($filter $(::<$typical>)?), "::view(&bytes)?;")]
            /// view.validate()?;
            #[doc = concat!("assert!(view.", $query, ");")]
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn view(bytes: &[u8]) -> Result<$view<'_ $(, $key)?>, $crate::error::ReadError> {
                let (filter, sum) = $crate::persist::view(bytes)?;
                Ok($view { filter, bytes, sum })
            }
        }

        #[doc = concat!("A read-only [`", stringify!($filter), "`] over bytes that lie elsewhere. Made by")]
        #[doc = concat!("[`", stringify!($filter), "::view`].")]
        ///
        /// Until [`validate`](Self::validate) was called, the tables may be anything: queries end without a panic, but their
        /// answers are worth as much as the bytes, and they may take as long as reading the tables.
        pub struct $view<'a $(, $key: $bound + ?Sized)?> {
            filter: $filter<$($key,)? &'a [u8]>,
            bytes: &'a [u8],
            /// The checksum that the tables should have.
            sum: u32,
        }

        impl$(<$key: $bound + ?Sized>)? $view<'_ $(, $key)?> {
            /// Checks the tables against their checksum and all their invariants. Reads everything.
            pub fn validate(&self) -> Result<(), $crate::error::ReadError> {
                $crate::persist::validate(&self.filter, self.sum)
            }

            /// A verified copy that can be changed.
            pub fn to_filter(&self) -> Result<$filter$(<$key>)?, $crate::error::ReadError> {
                $filter::from_bytes(self.bytes)
            }
        }

        impl<'a $(, $key: $bound + ?Sized)?> std::ops::Deref for $view<'a $(, $key)?> {
            type Target = $filter<$($key,)? &'a [u8]>;
            fn deref(&self) -> &Self::Target {
                &self.filter
            }
        }

        impl$(<$key: $bound + ?Sized>)? std::fmt::Debug for $view<'_ $(, $key)?> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.filter.fmt(f)
            }
        }

        #[doc = concat!("Carries the bytes of [`to_bytes`](", stringify!($filter), "::to_bytes), and with them the")]
        /// hash key: treat the output as a secret.
        #[cfg(feature = "serde")]
        impl<$($key: $bound + ?Sized,)? B: AsRef<[u8]>> ::serde::Serialize for $filter<$($key,)? B> {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(&self.to_bytes())
            }
        }

        #[doc = concat!("Reads and checks the bytes as [`from_bytes`](", stringify!($filter), "::from_bytes) does.")]
        #[cfg(feature = "serde")]
        impl<'de $(, $key: $bound + ?Sized)?> ::serde::Deserialize<'de> for $filter$(<$key>)? {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::persist::serde::deserialize(deserializer, concat!("the bytes of ", $what))
            }
        }
    };
}

pub(crate) use stored;
