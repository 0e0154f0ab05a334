//! Lists as bytes: the filter, which is that of an adaptive filter without tags, and the rows of both lists after it, as
//! those of any set in memory.

use std::path::Path;

use super::{ListFilter, Lists, YesNoList};
use crate::codec::string::{Table, Tags};
use crate::error::ReadError;
use crate::filter::adaptive::set_file::{read_filter, stored_set};
use crate::filter::core::{Core, left_to_filter};
use crate::hash::Hashes;
use crate::persist::{Body, Header, Kind, Source, expect_zeros, file, stored};
use crate::reverse_map::MemoryMap;
use crate::table::Extended;

stored! {
    ListFilter, View, "the filter of a list",
    "use twiceshy::list::ListFilter;",
    r#"let list = YesNoList::builder().from_lists(["ant"], ["bee"])?;"#,
    "let filter = list.filter();",
    => r#"query("ant").is_yes()"#
}

stored_set! {
    YesNoList,
    "YesNoList::builder().build_list(MemoryMap::new())?",
    r#"set.add_yes("moth")?;"# => "YesNoList", r#"lookup("moth").map(|list| list.is_some())"#
}

impl YesNoList<MemoryMap> {
    /// Reads only the filter of a file written by [`save`](Self::save): for whoever asks, which takes no keys. It answers as the
    /// list does. That the rows of the keys are as many bytes as they should be is checked, and nothing else about them.
    ///
    /// ```
    /// use twiceshy::YesNoList;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("blocked.list");
    /// YesNoList::builder().from_lists(["ant"], ["bee"])?.save(&path)?;
    /// let filter = YesNoList::load_filter(&path)?;
    /// assert!(filter.query("ant").is_yes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_filter(path: impl AsRef<Path>) -> Result<ListFilter, ReadError> {
        file::load(path.as_ref(), read_filter)
    }
}

impl<B: AsRef<[u8]>> Kind for ListFilter<B> {
    type Bytes = B;
    type Layout = Extended;
    const NUMBER: u8 = 8;
    const NAME: &'static str = "list";

    fn header(&self) -> Header {
        self.core().header(self.reader.hasher(), [0; 5])
    }

    fn tables(&self) -> impl Iterator<Item = &Table<B>> {
        [self.core().table()].into_iter()
    }

    fn read(header: Header, body: Body<impl Source<Bytes = B>>) -> Result<Self, ReadError> {
        expect_zeros(&left_to_filter(&header))?;
        let core = Core::read(Tags, &header, body)?;
        Ok(Self::from_core(core, Lists::new(header.hasher)))
    }

    /// That every key is answered as it should be only the map can tell: `YesNoList::validate` checks that too.
    fn check(&self) -> Result<(), String> {
        self.core().check()?;
        match self.core().iter().find(|(_, tag)| *tag != 0) {
            Some((prefix, tag)) => {
                Err(format!("fingerprint {prefix} has the tag {tag}, and a list has none"))
            }
            None => Ok(()),
        }
    }
}
