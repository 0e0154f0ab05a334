//! The methods that all stores have, with their documentation.

/// What is public of every store: `as_every_store! { impl [<K: ..>] for OrderedStore<K>, with Filter }`.
macro_rules! as_every_store {
    (impl [$($generic:tt)*] for $store:ident $(<$parameter:ident>)?, with $filter:ty) => {
        impl $($generic)* $store $(<$parameter>)? {
            /// How the store was opened: with its filter as it was left, or with a filter that had to be mended.
            pub fn recovery(&self) -> &$crate::Recovery {
                &self.shared.durable.recovery
            }

            /// How many keys there are, on the YES list if it is a list, without counting. Exact, unless a write failed without saying whether it had been
            /// carried out.
            pub fn approximate_len(&self) -> u64 {
                self.shared.durable.keys()
            }

            /// What is acknowledged survives this.
            pub fn durability(&self) -> $crate::Durability {
                self.shared.durable.durability
            }

            /// Calls `look` with the filter, which nobody changes meanwhile: for its size, its fingerprints, or a copy of it.
            ///
            /// As long as it looks, writers wait, and then readers after them. It must not use the store: it would wait for
            /// itself.
            pub fn with_filter<T>(&self, look: impl FnOnce(&$filter) -> T) -> Result<T, $crate::StoreError> {
                Ok(look(&*self.shared.durable.filter()?))
            }

            /// Waits until a thread that learns from mistakes in the background, if there is one, has ended.
            ///
            /// Not needed for anything but measuring: a mistake that is fixed in the background may be made again meanwhile.
            pub fn settle(&self) {
                self.shared.join_helper();
            }

            /// Returns when everything that was acknowledged, and every mistake that was fixed, survives a power cut.
            ///
            /// If the journal has got long, the filter is saved, too. That it cannot be is no error here, because nothing is
            /// lost; it is tried again, and [`close`](Self::close) says so.
            pub fn flush(&self) -> Result<(), $crate::StoreError> {
                self.shared.durable.flush(&self.shared)
            }

            /// Flushes the store and saves its filter; says whether both worked. Dropping the store does the same, and cannot
            /// say so.
            ///
            /// The next opening reads the filter, and little else: the engine, too, leaves next to nothing to do again. Without
            /// a saved filter it has to be mended first ([`Recovery`](crate::Recovery)).
            pub fn close(self) -> Result<(), $crate::StoreError> {
                self.shared.join_helper();
                self.shared.durable.save_if_changed(&self.shared)
            }

            /// The engine.
            pub fn engine(&self) -> &dyn $crate::Engine {
                &*self.shared.durable.engine
            }

            /// Gives back memory and disk space as far as filter and engine can, and makes reads faster; may take long.
            /// Others read and write meanwhile, but not with redb, which must be alone for that: then readers wait, too.
            ///
            /// First the filter gets smaller, then it is saved, then the engine does its part. An error ends it there; nothing
            /// is lost, and it can be done again.
            pub fn compact(&self) -> Result<(), $crate::StoreError> {
                self.shared.compact()
            }
        }

        impl $($generic)* Drop for $store $(<$parameter>)? {
            fn drop(&mut self) {
                self.shared.join_helper();
                // What cannot be saved now is mended when the store is opened.
                let _ = self.shared.durable.save_if_changed(&self.shared);
            }
        }

        impl $($generic)* std::fmt::Debug for $store $(<$parameter>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($store))
                    .field("path", &self.shared.durable.files.path())
                    .field("engine", &self.shared.durable.engine.name())
                    .field("keys", &self.approximate_len())
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use as_every_store;
