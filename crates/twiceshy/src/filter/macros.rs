//! What is written in the same way again and again.

/// An operation that is compiled for every kind of CPU (see [`cpu`](crate::bits::cpu)): what it takes, what comes out, and how.
macro_rules! kernel {
    (
        $(#[$documentation:meta])*
        $visible:vis $name:ident<$($lifetime:lifetime $(,)?)? $($generic:ident: $bound:path),*> { $($field:ident: $type:ty),+ } -> $output:ty
        |$cpu:ident| $body:expr
    ) => {
        $(#[$documentation])*
        $visible struct $name<$($lifetime,)? $($generic: $bound),*> {
            $($visible $field: $type),+
        }

        impl<$($lifetime,)? $($generic: $bound),*> $crate::bits::cpu::Kernel for $name<$($lifetime,)? $($generic),*> {
            type Output = $output;
            #[inline(always)]
            fn run<C: $crate::bits::cpu::Cpu>(self, $cpu: C) -> $output {
                let Self { $($field),+ } = self;
                $body
            }
        }
    };
}

/// Methods that ask a part of a filter, which has them under the same names.
macro_rules! delegated {
    ($part:ident: $($(#[$documentation:meta])* $method:ident -> $type:ty;)+) => {$(
        $(#[$documentation])*
        pub fn $method(&self) -> $type {
            self.$part.$method()
        }
    )+};
}

/// Lets a filter be cloned that has `try_clone`.
macro_rules! cloned {
    ($([$($generics:tt)+])? $filter:ident $(<$($argument:ident),+>)?) => {
        /// Copies the filter.
        ///
        /// # Panics
        ///
        #[doc = concat!("If there is no memory for the copy; [`try_clone`](", stringify!($filter), "::try_clone) returns an")]
        /// error then.
        impl$(<$($generics)+>)? Clone for $filter$(<$($argument),+>)? {
            fn clone(&self) -> Self {
                self.try_clone().unwrap_or_else(|error| panic!("{error}"))
            }
        }
    };
}

/// Says where a filter has its hasher.
macro_rules! hashing {
    ($filter:ident) => {
        impl<B> crate::hash::Hashes for $filter<B> {
            #[inline(always)]
            fn hasher(&self) -> &crate::hash::Hasher {
                &self.hasher
            }
        }
    };
}

/// Has a filter show what some of its methods tell.
macro_rules! shown {
    ([$($generics:tt)+] $filter:ident<$($argument:ident),+>: $($method:ident),+) => {
        /// A summary, without the hash key and without the contents.
        impl<$($generics)+> std::fmt::Debug for $filter<$($argument),+> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($filter))$(.field(stringify!($method), &self.$method()))+.finish()
            }
        }
    };
}

pub(crate) use {cloned, delegated, hashing, kernel, shown};
