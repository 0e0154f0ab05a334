//! Reading rows a page at a time, so that neither the engine nor the memory is held for long.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use crate::engine::Keys;
use crate::error::StoreError;

/// How many rows, and about how many bytes, are read at a time.
const PAGE_ROWS: usize = 256;
const PAGE_BYTES: usize = 1 << 20;

/// Rows that were read and not given away yet, and where the next ones begin.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    /// Where the next page begins; `None` after the last one.
    next: Option<Vec<u8>>,
    /// The first row's key after the last one.
    until: Option<Vec<u8>>,
    page: VecDeque<T>,
}

/// What is called with a row's key, what it is read as, and how many bytes that is.
pub(crate) type Take<'a, T> = dyn FnMut(&[u8], T, usize) -> ControlFlow<()> + 'a;

impl<T> Pages<T> {
    /// Rows with keys in a range.
    pub(crate) fn new(from: Vec<u8>, until: Option<Vec<u8>>) -> Self {
        Self { next: Some(from), until, page: VecDeque::new() }
    }

    /// No rows.
    pub(crate) fn none() -> Self {
        Self { next: None, until: None, page: VecDeque::new() }
    }

    /// The next row. `read` calls what it is given with every row in a range until that says `Break`. After an error there are
    /// no more rows.
    pub(crate) fn next(
        &mut self,
        read: impl FnOnce(Keys<'_>, &mut Take<'_, T>) -> Result<(), StoreError>,
    ) -> Option<Result<T, StoreError>> {
        if self.page.is_empty()
            && let Some(from) = self.next.take()
            && let Err(error) = self.read_page(&from, read)
        {
            (self.next, self.page) = (None, VecDeque::new());
            return Some(Err(error));
        }
        self.page.pop_front().map(Ok)
    }

    fn read_page(
        &mut self,
        from: &[u8],
        read: impl FnOnce(Keys<'_>, &mut Take<'_, T>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (page, next, mut bytes) = (&mut self.page, &mut self.next, 0);
        read(Keys { from, until: self.until.as_deref() }, &mut |row_key, row, len| {
            page.push_back(row);
            bytes += len;
            if page.len() < PAGE_ROWS && bytes < PAGE_BYTES {
                return ControlFlow::Continue(());
            }
            // The least key after this one.
            *next = Some([row_key, &[0]].concat());
            ControlFlow::Break(())
        })
    }
}
