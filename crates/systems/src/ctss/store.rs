//! The users' bank of core, as pieces of programs. Every program begins at the first word.

use thinktime_engine::{LawViolation, Laws, Span, Stream};

/// Owner of the words of the background program; users are below.
pub(super) const BACKGROUND: u32 = u32::MAX;

/// Words of one program that stay in core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// User, or [`BACKGROUND`].
    owner: u32,
    /// First word.
    from: u32,
    /// Word after the last one.
    to: u32,
}

/// Words that have to be swapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    /// User, or [`BACKGROUND`].
    pub owner: u32,
    /// Length of the transfer [word].
    pub words: u32,
    /// Direction and device.
    pub kind: Kind,
}

/// Direction and device of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words are written to the drum.
    Dump,
    /// Words are read from the drum.
    Load,
    /// A command comes from the disk.
    Command,
}

/// Pieces in the order of their places, the first one at word 0. A program in use is complete, and first.
#[derive(Clone, Debug)]
pub(super) struct Store {
    /// Core for users' programs [word].
    size: u32,
    /// Whether only words that the next program covers are written.
    partial: bool,
    pieces: Vec<Piece>,
}

impl Store {
    pub fn new(size: u32, partial: bool) -> Store {
        Store { size, partial, pieces: Vec::new() }
    }

    /// Swaps to be made before the first `words` words are free for `owner`; words that `owner` has there stay.
    pub fn make_room(&mut self, owner: u32, words: u32) -> Vec<Move> {
        let mut moves = Vec::new();
        // Words of the owner stay where they are: they need not be read again.
        for piece in self.pieces.iter_mut().filter(|piece| piece.owner != owner) {
            // The onion-skin: only the words that the newcomer covers are written; the rest stays in place.
            let leaves = if self.partial {
                piece.to.min(words).saturating_sub(piece.from)
            } else {
                piece.to - piece.from
            };
            piece.from += leaves;
            if leaves > 0 {
                moves.push(Move { owner: piece.owner, words: leaves, kind: Kind::Dump });
            }
        }
        self.pieces.retain(|piece| piece.from < piece.to);
        moves
    }

    /// Number of missing words among the first `words`, which `owner` gets; there must be room.
    pub fn fill(&mut self, owner: u32, words: u32) -> u32 {
        let had = self.pieces.iter().find(|piece| piece.owner == owner).copied();
        self.forget(owner);
        self.pieces.insert(0, Piece { owner, from: 0, to: words });
        // What stayed in core is the end of the program: its first words were covered.
        had.map_or(words, |piece| piece.from.min(words))
    }

    /// Drops `owner`'s words: they are no longer needed.
    pub fn forget(&mut self, owner: u32) {
        self.pieces.retain(|piece| piece.owner != owner);
    }

    #[cfg(test)]
    pub fn held(&self) -> u32 {
        self.pieces.iter().map(|piece| piece.to - piece.from).sum()
    }

    /// Pieces lie one after another within core, one a program.
    pub fn check(&self, laws: &mut Laws) -> Result<(), LawViolation> {
        let law = "conservation of core";
        let mut end = 0;
        for (place, piece) in self.pieces.iter().enumerate() {
            let again = self.pieces[..place].iter().any(|other| other.owner == piece.owner);
            laws.equal(law, "one piece a program", again, false)?;
            laws.equal(law, "pieces apart", piece.from >= end && piece.from < piece.to, true)?;
            end = piece.to;
        }
        laws.equal(law, "all within core", end <= self.size, true)
    }
}

/// A drum or disk: times of a transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Device {
    /// Time of the movement of the arm [s].
    pub seek_s: f64,
    /// Upper limit of the time until the first word comes, which is uniform from zero [s].
    pub revolution_s: f64,
    /// Transfer time of a word [s].
    pub word_s: f64,
}

impl Device {
    /// Time of a transfer of `words` words, with a latency drawn at random.
    pub fn transfer(&self, words: u32, chance: &mut Stream) -> Span {
        let access = self.seek_s + self.revolution_s * chance.uniform();
        Span::from_seconds(access + self.word_s * f64::from(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(owner: u32, words: u32) -> Move {
        Move { owner, words, kind: Kind::Dump }
    }

    fn bring(store: &mut Store, owner: u32, words: u32) -> (Vec<Move>, u32) {
        let moves = store.make_room(owner, words);
        let loaded = store.fill(owner, words);
        store.check(&mut Laws::default()).unwrap();
        (moves, loaded)
    }

    #[test]
    fn the_skins_of_an_onion() {
        let mut store = Store::new(100, true);
        assert_eq!(bring(&mut store, 0, 90), (vec![], 90));
        // A smaller one takes the place of the first 30 words only, a third one of 10 of these.
        assert_eq!(bring(&mut store, 1, 30), (vec![dump(0, 30)], 30));
        assert_eq!(bring(&mut store, 2, 10), (vec![dump(1, 10)], 10));
        assert_eq!(store.held(), 90);
        // The second one gets back its first 10; the first one all that both have.
        assert_eq!(bring(&mut store, 1, 30), (vec![dump(2, 10)], 10));
        assert_eq!(bring(&mut store, 0, 90), (vec![dump(1, 30)], 30));
        assert_eq!(bring(&mut store, 0, 90), (vec![], 0));
    }

    #[test]
    fn a_program_that_has_ended_is_not_written_and_a_whole_swap_moves_all() {
        let mut store = Store::new(100, false);
        bring(&mut store, 0, 90);
        assert_eq!(bring(&mut store, 1, 30), (vec![dump(0, 90)], 30));
        store.forget(1);
        assert_eq!(bring(&mut store, 0, 90), (vec![], 90));
    }

    #[test]
    fn a_larger_size_takes_room_and_a_smaller_one_gives_it() {
        let mut store = Store::new(100, true);
        bring(&mut store, 0, 90);
        bring(&mut store, 1, 30);
        assert_eq!(store.make_room(1, 50), [dump(0, 20)]);
        store.fill(1, 50);
        store.fill(1, 10);
        store.check(&mut Laws::default()).unwrap();
        assert_eq!(store.held(), 10 + 40);
    }
}
