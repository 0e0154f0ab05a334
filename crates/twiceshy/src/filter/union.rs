//! Ascending streams as one.

/// What a stream is made of.
pub(super) trait Ascending: Copy {
    /// No entry, and not before any entry.
    const END: Self;
    fn is_end(&self) -> bool;
    fn is_before(&self, other: &Self) -> bool;
}

/// Two ascending streams as one. Equal entries follow each other.
pub(super) struct Union<T, A, B> {
    one: A,
    other: B,
    /// The next entry of each, [`END`](Ascending::END) after the last.
    heads: (T, T),
}

impl<T: Ascending, A: Iterator<Item = T>, B: Iterator<Item = T>> Union<T, A, B> {
    pub(super) fn new(mut one: A, mut other: B) -> Self {
        let heads = (one.next().unwrap_or(T::END), other.next().unwrap_or(T::END));
        Self { one, other, heads }
    }
}

impl<T: Ascending, A: Iterator<Item = T>, B: Iterator<Item = T>> Iterator for Union<T, A, B> {
    type Item = T;
    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        let (one, other) = self.heads;
        if one.is_before(&other) || other.is_end() {
            self.heads.0 = self.one.next().unwrap_or(T::END);
            (!one.is_end()).then_some(one)
        } else {
            self.heads.1 = self.other.next().unwrap_or(T::END);
            Some(other)
        }
    }
}

pub(super) type Stream<'a, T> = Box<dyn Iterator<Item = T> + 'a>;

/// Many ascending streams as one: a balanced tree of [`Union`]s.
pub(super) fn union_of<'a, T: Ascending + 'a>(
    mut streams: Vec<impl Iterator<Item = T> + 'a>,
) -> Stream<'a, T> {
    match streams.len() {
        0 => Box::new(std::iter::empty()),
        1 => Box::new(streams.remove(0)),
        len => {
            let right = streams.split_off(len / 2);
            Box::new(Union::new(union_of(streams), union_of(right)))
        }
    }
}
