//! Learning: which cells die of a mistake, and which keys go on to a later layer.
//!
//! A query that is present in a layer, and is no key, has its cell killed there, and the keys of that cell come into the next layer.
//! If the query is present there, too, the same is done in that layer. All of it is planned first, with what the layers would say if
//! the keys had come; then there is room for all of it, or nothing is done.

use std::ops::ControlFlow;

use super::{Cascade, Hashed, Layer, Learned, MOST_LAYERS, Probe, Seen};
use crate::error::{CascadeError, Indistinguishable};
use crate::key::Key;
use crate::reverse_map::{Lookup, Row};

/// What is to be done about a mistake: layer by layer, from the one where it is made.
#[derive(Default)]
pub(super) struct Plan {
    /// The layers in which the cell of the query dies.
    pub(super) kills: Vec<usize>,
    /// The keys that come into a layer.
    pub(super) comes: Vec<(usize, Hashed)>,
}

impl Plan {
    /// The keys that come into a layer.
    fn coming_into(&self, number: usize) -> impl Iterator<Item = Hashed> {
        self.comes.iter().filter(move |&&(into, _)| into == number).map(|&(_, key)| key)
    }
}

/// What came with an insertion.
pub(super) struct Inserted<L: Layer> {
    came: Vec<(usize, Probe, L::Undo)>,
    layers_before: usize,
}

impl<L: Layer> Cascade<L> {
    /// Learns that a query was a mistake, if it was. `lookup` has the keys.
    ///
    /// An error leaves the cascade as it was. [`CascadeError::NeedsRebuild`] says that a later layer is full.
    pub fn adapt<K: Key + ?Sized, M: Lookup + ?Sized>(
        &mut self,
        key: &K,
        lookup: &M,
    ) -> Result<Learned, CascadeError<M::Error>> {
        self.adapt_bytes(key.key_bytes().as_ref(), lookup)
    }

    pub(super) fn adapt_bytes<M: Lookup + ?Sized>(
        &mut self,
        key: &[u8],
        lookup: &M,
    ) -> Result<Learned, CascadeError<M::Error>> {
        let hash = self.hashed(key);
        let Some(first) = self.present_in(hash) else { return Ok(Learned::NotPositive) };
        let Some(plan) = self.plan(first, key, hash, lookup)? else { return Ok(Learned::WasMember) };
        let (cells, moved) = (plan.kills.len() as u32, plan.comes.len() as u64);
        self.carry_out(plan, hash).map_err(CascadeError::with_map)?;
        Ok(Learned::Fixed { cells, moved })
    }

    /// What is to be done about a query that is present in a layer: nothing (`None`) if it is a key.
    fn plan<M: Lookup + ?Sized>(
        &self,
        first: usize,
        key: &[u8],
        hash: Hashed,
        lookup: &M,
    ) -> Result<Option<Plan>, CascadeError<M::Error>> {
        let (mut plan, mut is_out) = (Plan::default(), false);
        for number in first.. {
            let (probe, coming) = (self.probe(number, hash), plan.coming_into(number));
            let coming: Vec<Probe> = coming.map(|other| self.probe(number, other)).collect();
            let seen = match self.layers.get(number) {
                // It does not get there.
                _ if is_out => Seen::Absent,
                Some(counted) => counted.layer.look_among(probe, &coming),
                None if number >= MOST_LAYERS => {
                    return Err(CascadeError::Indistinguishable(Indistinguishable));
                }
                None => self.new_layer(number)?.look_among(probe, &coming),
            };
            is_out = seen == Seen::Absent;
            let mut goes_on = Vec::new();
            if seen == Seen::Present {
                let Some(rows) = self.of_cell(number, &plan, key, hash, lookup)? else { return Ok(None) };
                plan.kills.push(number);
                goes_on = rows;
            }
            // Those whose cell there was dead already go on in any case.
            goes_on.extend(plan.coming_into(number).filter(|&other| {
                self.layers.get(number).is_some_and(|own| own.layer.is_dead(self.probe(number, other)))
            }));
            plan.comes.extend(goes_on.iter().map(|&other| (number + 1, other)));
            if is_out && goes_on.is_empty() {
                return Ok(Some(plan));
            }
        }
        unreachable!("there are only so many layers")
    }

    /// An empty layer with this number.
    fn new_layer<E>(&self, number: usize) -> Result<L, CascadeError<E>> {
        let (keys, rate) = self.room(number);
        L::new(keys, rate, number == 0).map_err(CascadeError::Build)
    }

    /// The keys in a layer that have the cell of a query, which dies in the layers of the plan; `None` if the query is one of them.
    fn of_cell<M: Lookup + ?Sized>(
        &self,
        number: usize,
        plan: &Plan,
        key: &[u8],
        query: Hashed,
        lookup: &M,
    ) -> Result<Option<Vec<Hashed>>, CascadeError<M::Error>> {
        let new;
        let layer = match self.layers.get(number) {
            Some(counted) => &counted.layer,
            None => {
                new = self.new_layer(number)?;
                &new
            }
        };
        let probe = self.probe(number, query);
        let (mut found, mut is_member) = (Vec::new(), false);
        let mut look = |row: Row<'_>| {
            is_member |= row.key == key && row.hash == query.place;
            let other = self.hashed_row(row);
            let dies = |earlier: usize| {
                let own = &self.layers[earlier].layer;
                let (other, probe) = (self.probe(earlier, other), self.probe(earlier, query));
                own.is_dead(other) || plan.kills.contains(&earlier) && own.is_same_cell(other, probe)
            };
            let is_here = (0..number.min(self.layers.len())).all(dies);
            if is_here && layer.is_same_cell(self.probe(number, other), probe) {
                found.push(other);
            }
            if is_member { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        lookup.visit(layer.places(probe), &mut look).map_err(CascadeError::Map)?;
        Ok((!is_member).then_some(found))
    }

    /// Does what is planned about a query, or nothing.
    pub(super) fn carry_out(&mut self, plan: Plan, query: Hashed) -> Result<Inserted<L>, CascadeError> {
        let Plan { kills, comes } = plan;
        let layers_before = self.layers.len();
        for number in comes.iter().map(|&(number, _)| number).chain(kills.iter().copied()) {
            while self.layers.len() <= number {
                if number >= MOST_LAYERS {
                    self.layers.truncate(layers_before);
                    return Err(CascadeError::Indistinguishable(Indistinguishable));
                }
                if let Err(error) = self.add_layer() {
                    self.layers.truncate(layers_before);
                    return Err(CascadeError::Build(error));
                }
            }
        }
        let mut inserted = Inserted { came: Vec::new(), layers_before };
        for number in 0..self.layers.len() {
            let coming = comes.iter().filter(|&&(into, _)| into == number).count() as u64;
            let (capacity, _) = self.room(number);
            if coming > 0 && self.layers[number].keys + coming > capacity {
                self.take_back(inserted);
                return Err(CascadeError::NeedsRebuild { layer: number, capacity });
            }
        }
        for (number, hash) in comes {
            let probe = self.probe(number, hash);
            match self.layers[number].layer.insert(probe) {
                Ok(undo) => {
                    self.layers[number].keys += 1;
                    inserted.came.push((number, probe, undo));
                }
                Err(_) => return Err(self.give_up(number, inserted)),
            }
        }
        let mut killed: Vec<(usize, u64)> = Vec::new();
        for number in kills {
            let probe = self.probe(number, query);
            let copies = self.layers[number].layer.copies(probe);
            if self.layers[number].layer.kill(probe).is_err() {
                for (number, copies) in killed.into_iter().rev() {
                    let probe = self.probe(number, query);
                    self.layers[number].layer.revive(probe, copies);
                }
                return Err(self.give_up(number, inserted));
            }
            killed.push((number, copies));
        }
        Ok(inserted)
    }

    fn give_up(&mut self, layer: usize, inserted: Inserted<L>) -> CascadeError {
        self.take_back(inserted);
        CascadeError::NeedsRebuild { layer, capacity: self.room(layer).0 }
    }

    /// Takes back what an insertion did, if nothing else happened since.
    pub(super) fn take_back(&mut self, inserted: Inserted<L>) {
        for (number, probe, undo) in inserted.came.into_iter().rev() {
            self.layers[number].layer.undo(probe, undo);
            self.layers[number].keys -= 1;
        }
        self.layers.truncate(inserted.layers_before);
    }
}
