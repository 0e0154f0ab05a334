//! The games.

use std::collections::VecDeque;

use twiceshy_testkit::Random;

use crate::contenders::{ALL, About, Contender, Failure, Make};
use crate::{Args, Row};

/// Keys are below this number, queries for absent ones are not.
const ABSENT: u64 = 1 << 40;

/// Plays all games with all contenders.
pub(crate) fn all(args: &Args) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for make in ALL {
        rows.extend(fresh_and_repeat(args, *make)?);
        rows.push(cycle(args, *make)?);
        for &times in &args.active {
            rows.push(active_set(args, *make, times)?);
        }
        rows.push(zipf(args, *make)?);
        rows.push(adversary(args, *make, false)?);
        rows.push(adversary(args, *make, true)?);
    }
    // Game by game: that is what one wants to compare.
    let order: Vec<String> = rows.iter().map(|row| row.game.clone()).collect();
    rows.sort_by_key(|row| order.iter().position(|game| *game == row.game));
    Ok(rows)
}

/// A contender with all keys, and what happens to it.
struct Game<'a> {
    args: &'a Args,
    contender: Box<dyn Contender>,
    random: Random,
    /// The next query that was never asked.
    next: u64,
    asked: u64,
    wrong: u64,
    not_learned: u64,
    accesses_before: u64,
}

impl<'a> Game<'a> {
    fn new(args: &'a Args, make: Make) -> Result<Self, Failure> {
        let mut contender = make(args)?;
        for key in 0..args.keys {
            contender.insert(key)?;
        }
        let accesses_before = contender.map_accesses();
        let random = Random(args.seed);
        Ok(Self {
            args,
            contender,
            random,
            next: ABSENT,
            asked: 0,
            wrong: 0,
            not_learned: 0,
            accesses_before,
        })
    }

    /// A query that was never asked.
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Asks for an absent key. Tells whether the answer was wrong; then it is learned.
    fn ask(&mut self, query: u64) -> Result<bool, Failure> {
        let is_wrong = self.contender.finds(query);
        self.asked += 1;
        if is_wrong {
            self.wrong += 1;
            self.not_learned += u64::from(!self.contender.learn(query)?);
        }
        Ok(is_wrong)
    }

    /// What came of all queries since the last time.
    fn end(&mut self, game: impl Into<String>, about: About) -> Row {
        let (asked, accesses) = (self.asked.max(1) as f64, self.contender.map_accesses());
        let per_thousand = |count: u64| count as f64 * 1_000.0 / asked;
        let row = Row {
            filter: self.contender.name(),
            game: game.into(),
            keys: self.args.keys,
            queries: self.asked,
            error_rate: self.wrong as f64 / asked,
            promised: self.contender.promised(about),
            bits_per_key: self.contender.bytes() as f64 * 8.0 / self.args.keys as f64,
            map_accesses: per_thousand(accesses - self.accesses_before),
            not_learned: per_thousand(self.not_learned),
        };
        (self.asked, self.wrong, self.not_learned, self.accesses_before) = (0, 0, 0, accesses);
        row
    }
}

fn fresh_and_repeat(args: &Args, make: Make) -> Result<[Row; 2], Failure> {
    let mut game = Game::new(args, make)?;
    let mut found = Vec::new();
    for _ in 0..args.queries {
        let query = game.fresh();
        if game.ask(query)? {
            found.push(query);
        }
    }
    let fresh = game.end("fresh", About::New);
    for query in found {
        game.ask(query)?;
    }
    Ok([fresh, game.end("repeat", About::Known)])
}

fn cycle(args: &Args, make: Make) -> Result<Row, Failure> {
    let mut game = Game::new(args, make)?;
    let mut found = Vec::new();
    while found.len() < args.mistakes as usize {
        let query = game.fresh();
        if game.contender.finds(query) {
            found.push(query);
        }
    }
    for &query in &found {
        game.ask(query)?;
    }
    // What the first round has learned is what the others are about.
    game.end("", About::Known);
    while game.asked < args.queries {
        for &query in &found {
            game.ask(query)?;
        }
    }
    Ok(game.end(format!("cycle of {}", args.mistakes), About::Known))
}

fn active_set(args: &Args, make: Make, times: f64) -> Result<Row, Failure> {
    let mut game = Game::new(args, make)?;
    let size = ((args.keys as f64 * times) as u64).max(1);
    for _ in 0..args.queries {
        let query = ABSENT + game.random.below(size);
        game.ask(query)?;
    }
    Ok(game.end(format!("active set, {times} times"), About::Both))
}

fn zipf(args: &Args, make: Make) -> Result<Row, Failure> {
    let mut game = Game::new(args, make)?;
    // By inversion of the integral of 1/x: near enough, and every rank is drawn.
    let ranks = (1u64 << 32) as f64;
    for _ in 0..args.queries {
        let share = (game.random.next() >> 11) as f64 / (1u64 << 53) as f64;
        let query = ABSENT + ranks.powf(share) as u64;
        game.ask(query)?;
    }
    Ok(game.end("Zipf", About::Both))
}

fn adversary(args: &Args, make: Make, churns: bool) -> Result<Row, Failure> {
    let mut game = Game::new(args, make)?;
    let mut known = VecDeque::new();
    let (mut oldest, mut newest) = (0, args.keys);
    for turn in 0..args.queries {
        let query = match turn % 2 == 1 && !known.is_empty() {
            true => known[game.random.below(known.len() as u64) as usize],
            false => game.fresh(),
        };
        let is_new = query == game.next;
        if game.ask(query)? && is_new {
            known.push_back(query);
            if known.len() > args.memory as usize {
                known.pop_front();
            }
        }
        if churns && turn % 8 == 0 {
            game.contender.remove(oldest)?;
            game.contender.insert(newest)?;
            (oldest, newest) = (oldest + 1, newest + 1);
        }
    }
    Ok(game.end(if churns { "churn" } else { "adversary" }, About::Both))
}
