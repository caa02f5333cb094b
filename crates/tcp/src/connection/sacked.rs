//! The SACK option of an ACK, in offsets of this end's stream.

use crate::sender::Sender;
use narrows_wire::SackBlocks;

/// SACK blocks of an ACK as offsets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blocks {
    list: [(u64, u64); 4],
    len: usize,
    /// The D-SACK block, if there is one.
    pub(super) dsack: Option<(u64, u64)>,
}

impl Blocks {
    /// The blocks above SND.UNA.
    pub(super) fn above(&self) -> &[(u64, u64)] {
        &self.list[..self.len]
    }
}

impl Sender {
    /// Translates the SACK blocks of an ACK of `ack` to offsets, drops invalid ones and finds the D-SACK block (RFC
    /// 2883, section 4). Linux also reads those of an ACK that later ones have overtaken.
    pub(super) fn parse_blocks(&self, sack: &SackBlocks, ack: u64) -> Blocks {
        let mut blocks = Blocks::default();
        let offsets = |(left, right)| (self.offset(left), self.offset(right));
        let nxt = self.nxt as i64;
        for (i, block) in sack.iter().enumerate() {
            let (left, right) = offsets(block);
            if left >= right || right > nxt {
                continue;
            }
            if i == 0 {
                let inside = sack.iter().nth(1).map(offsets).is_some_and(|(l, r)| l <= left && right <= r);
                if right <= ack as i64 || inside {
                    blocks.dsack = Some((left.max(0) as u64, right.max(0) as u64));
                    continue;
                }
            }
            let una = ack.max(self.una) as i64;
            if right > una {
                blocks.list[blocks.len] = (left.max(una) as u64, right as u64);
                blocks.len += 1;
            }
        }
        blocks
    }
}
