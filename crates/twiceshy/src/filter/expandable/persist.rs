//! Expandable filters as bytes.
//!
//! Behind the header is a directory of all tables, then the tables. A filter on its way to a larger table is
//! stored with both, and goes on from there. The format is drawn in `docs/format.md`.

use super::lengths::{Lengths, Mode};
use super::level::{Level, Old};
use super::place::Settings;
use super::{ExpandableFilter, validate};
use crate::error::ReadError;
use crate::persist::{Body, Described, Header, Kind, Own, Source, expect, expect_zeros, stored};
use crate::table::{Plain, Shape, Table};

stored! {
    ExpandableFilter, View, "an expandable filter",
    r#"let filter: ExpandableFilter = ["ant", "bee"].into_iter().collect();"#,
    => r#"contains("ant")"#
}

impl<B: AsRef<[u8]>> Kind for ExpandableFilter<B> {
    type Bytes = B;
    type Layout = Plain;
    const NUMBER: u8 = 3;
    const NAME: &'static str = "expandable";

    fn header(&self) -> Header {
        Header {
            hasher: self.hasher.clone(),
            max_quotient_bits: Shape::MAX_QUOTIENT_BITS,
            len: self.len,
            distinct: 0,
            own: self.settings.to_own(self.tables().count()),
        }
    }

    fn tables(&self) -> impl Iterator<Item = &Table<B>> {
        self.levels.iter().flat_map(Level::tables).map(|(table, _)| table)
    }

    fn directory(&self) -> Vec<u8> {
        let tables = self.levels.iter().flat_map(Level::tables);
        tables.flat_map(|(table, moved)| Record { table: Described::of(table), moved }.to_bytes()).collect()
    }

    fn read(header: Header, mut body: Body<impl Source<Bytes = B>>) -> Result<Self, ReadError> {
        expect("fingerprints", header.distinct == 0, 0, header.distinct)?;
        header.expect_no_largest_size()?;
        let (settings, tables) = Settings::from_own(&header.own, &body.first().shape)?;
        let directory = body.directory(tables * RECORD_BYTES)?;
        let (records, _) = directory.as_ref().as_chunks();
        let records = records.iter().map(Record::from_bytes).collect::<Result<Vec<_>, _>>()?;
        if records.first() != Some(&Record { table: body.first(), moved: None }) {
            return Err(ReadError::Inconsistent("the first table is not the one of the header".into()));
        }
        let described: Vec<_> = records.iter().map(|record| record.table).collect();
        let mut levels: Vec<Level<B>> = Vec::new();
        for (record, table) in records.into_iter().zip(body.tables(&described)?) {
            match (record.moved, levels.last_mut()) {
                (None, _) => levels.push(settings.level(table)),
                (Some(moved), Some(level)) if level.old.is_none() => level.old = Some(Old { table, moved }),
                (Some(_), _) => {
                    return Err(ReadError::Inconsistent("two tables move to the same one".into()));
                }
            }
        }
        Ok(Self::from_levels(levels, header.hasher, settings, header.len))
    }

    fn check(&self) -> Result<(), String> {
        validate::check(self)
    }
}

/// Bytes of the directory's record of a table.
const RECORD_BYTES: usize = 32;

// Where its fields are, after the description of the table.
const MOVED_AT: usize = Described::BYTES;
const ROLE_AT: usize = MOVED_AT + 8;

/// More tables than any filter has: quotient bits fall along the chain, and each table may have an old one.
const MOST_TABLES: usize = 2 * Shape::MAX_QUOTIENT_BITS as usize;

/// What a table is, as stored.
const ROLE_TABLE: u8 = 0;
const ROLE_OLD: u8 = 1;

/// What the directory says of a table.
#[derive(PartialEq)]
struct Record {
    table: Described,
    /// The border of a table whose entries are on their way; `None` for one where new entries go.
    moved: Option<u64>,
}

impl Record {
    fn to_bytes(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..MOVED_AT].copy_from_slice(&self.table.to_bytes());
        bytes[MOVED_AT..ROLE_AT].copy_from_slice(&self.moved.unwrap_or(0).to_le_bytes());
        bytes[ROLE_AT] = if self.moved.is_some() { ROLE_OLD } else { ROLE_TABLE };
        bytes
    }

    fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Result<Self, ReadError> {
        let (table, rest) = bytes.split_first_chunk().expect("inside the record");
        let (moved, rest) = rest.split_first_chunk().expect("inside the record");
        let [role, zeros @ ..] = rest else { unreachable!("inside the record") };
        let table = Described::from_bytes::<Plain>(table)?;
        let (slot_bits, moved) = (table.shape.slot_bits(), u64::from_le_bytes(*moved));
        expect("slot bits", slot_bits >= 2, "at least 2", slot_bits)?;
        expect("role of a table", *role <= ROLE_OLD, "0 or 1", *role)?;
        let most = if *role == ROLE_OLD { table.shape.quotients() } else { 0 };
        expect("moved quotients", moved <= most, format_args!("at most {most}"), moved)?;
        expect_zeros(zeros)?;
        Ok(Self { table, moved: (*role == ROLE_OLD).then_some(moved) })
    }
}

impl Settings {
    fn to_own(self, tables: usize) -> Own {
        let mut own = Own::default();
        let mode = match self.lengths.mode {
            Mode::Growing => 0,
            Mode::Chained => 1,
            Mode::Basic => 2,
        };
        own[0] = mode;
        own[1] = self.max_load as u8;
        own[2..4].copy_from_slice(&self.lengths.base.to_le_bytes());
        own[4] = self.lengths.least_bits as u8;
        own[5] = self.least_quotient_bits as u8;
        own[6] = u8::from(self.spread_growth);
        own[7] = self.block_bits as u8;
        own[8] = tables as u8;
        own
    }

    /// The settings of a filter with this active table, and how many tables there are.
    fn from_own(own: &Own, active: &Shape) -> Result<(Self, usize), ReadError> {
        let [mode, max_load, base0, base1, least_bits, least, spread, block_bits, tables, zeros @ ..] = own;
        let mode = match mode {
            0 => Mode::Growing,
            1 => Mode::Chained,
            2 => Mode::Basic,
            other => {
                let (field, expected) = ("mode", "0 (growing), 1 (chained) or 2 (basic)".into());
                return Err(ReadError::Field { field, expected, found: u64::from(*other) });
            }
        };
        expect("load limit", (50..=95).contains(max_load), "50..=95", *max_load)?;
        expect("spread growth", *spread <= 1, "0 or 1", *spread)?;
        let most = active.quotient_bits();
        let allowed = (1..=most).contains(&u32::from(*least));
        expect("least quotient bits", allowed, format_args!("1..={most}"), *least)?;
        expect("bits of a hash word", (1..=64).contains(block_bits), "1..=64", *block_bits)?;
        let allowed = (1..=MOST_TABLES).contains(&usize::from(*tables));
        expect("tables", allowed, format_args!("1..={MOST_TABLES}"), *tables)?;
        expect_zeros(zeros)?;
        let base = i16::from_le_bytes([*base0, *base1]);
        let least_bits = u32::from(*least_bits);
        let settings = Self {
            lengths: Lengths { mode, base, least_bits },
            max_load: u32::from(*max_load),
            spread_growth: *spread == 1,
            least_quotient_bits: u32::from(*least),
            block_bits: u32::from(*block_bits),
            template: active.template(),
        };
        Ok((settings, usize::from(*tables)))
    }
}
