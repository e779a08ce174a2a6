//! The schedulers of this node that the configuration names: their threads, their boards, and what rests on them.

use crate::allocation::Board;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::held::Held;
use crate::owner::Procfs;
use crate::slurm::{JobClaims, Witness};

/// Running witnesses; they end when this is dropped.
#[derive(Default)]
pub struct Schedulers {
    boards: Vec<Board>,
    /// The longest time that a scheduler's word may take, milliseconds.
    wait_ms: i64,
    /// Slurm's witness and its board.
    slurm: Option<(Witness, Board)>,
}

impl Schedulers {
    /// Starts asking what the configuration says should be asked.
    pub fn start(config: &Config) -> Self {
        let mut schedulers = Self::default();
        if let Some(slurm) = &config.slurm {
            let board = schedulers.board(slurm.wait_ms());
            let witness = Witness::start(slurm.settings(config.node_name()), board.clone(), || SystemClock.wall_ms());
            schedulers.slurm = Some((witness, board));
        }
        schedulers
    }

    /// A board for one more scheduler, whose word may take so long.
    fn board(&mut self, wait_ms: i64) -> Board {
        let board = Board::default();
        self.boards.push(board.clone());
        self.wait_ms = self.wait_ms.max(wait_ms);
        board
    }

    /// Where closed slices wait for the schedulers' word.
    pub fn held(&self) -> Held {
        Held::new(self.boards.clone(), self.wait_ms)
    }

    /// Owners from `/proc`, with the claims that the schedulers can check.
    pub fn owners(&self, procfs: Procfs, config: &Config) -> JobClaims<Procfs> {
        JobClaims::new(procfs, config.owner.procfs.clone(), self.slurm.as_ref().map(|(_, board)| board.clone()))
    }

    /// Slurm's witness, where Slurm is asked.
    pub fn slurm(&self) -> Option<&Witness> {
        self.slurm.as_ref().map(|(witness, _)| witness)
    }
}
