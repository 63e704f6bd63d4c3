//! Free placements.
//!
//! Part of a host: best fit, on hosts already broken, so that whole hosts stay whole. A gang: in one block if one
//! fits, there where least is left over; else over as few blocks as possible. *Source*: policy, section 6.

use super::contract::{HostState, Shape, Topology};
use super::state::{Host, HostIx};

/// Hosts with a mask of GPUs each.
pub type Placement = Vec<(HostIx, u64)>;

/// The free GPUs of a pool during a pass.
#[derive(Clone, Debug)]
pub struct Room<'a> {
    hosts: &'a [Host],
    blocks: usize,
    free: Vec<u64>,
}

impl<'a> Room<'a> {
    /// What is free now.
    pub fn new(hosts: &'a [Host], blocks: usize) -> Self {
        Self {
            hosts,
            blocks,
            free: hosts.iter().map(|host| host.free).collect(),
        }
    }

    /// Free GPUs of a host.
    pub fn free(&self, ix: HostIx) -> u64 {
        self.free[ix.0]
    }

    /// Whether a host takes new work.
    pub fn takes_work(&self, ix: HostIx) -> bool {
        self.hosts[ix.0].state == HostState::Up
    }

    /// Takes GPUs.
    pub fn take(&mut self, placement: &Placement) {
        for (ix, mask) in placement {
            self.free[ix.0] &= !mask;
        }
    }

    /// Gives GPUs back.
    pub fn give(&mut self, gpus_on: &[(HostIx, u64)]) {
        for (ix, mask) in gpus_on {
            self.free[ix.0] |= mask;
        }
    }

    /// A placement in what is free, if there is one.
    pub fn place(&self, shape: Shape) -> Option<Placement> {
        if shape.hosts == 1 {
            self.on_one_host(shape.gpus_per_host)
        } else {
            self.gang(shape)
        }
    }

    /// Sorts hosts: broken before whole, then those with least free, then by id.
    fn fit(&self, ix: usize) -> (bool, u32, usize) {
        (
            self.free[ix] == self.hosts[ix].all,
            self.free[ix].count_ones(),
            ix,
        )
    }

    fn fitting(&self, gpus: u32) -> impl Iterator<Item = usize> + '_ {
        let fits = move |ix: &usize| self.takes_work(HostIx(*ix)) && self.free[*ix].count_ones() >= gpus;
        (0..self.hosts.len()).filter(fits)
    }

    fn on_one_host(&self, gpus: u32) -> Option<Placement> {
        let best = self.fitting(gpus).min_by_key(|ix| self.fit(*ix))?;
        Some(vec![(HostIx(best), lowest(self.free[best], gpus))])
    }

    fn gang(&self, shape: Shape) -> Option<Placement> {
        let mut by_block: Vec<Vec<usize>> = vec![Vec::new(); self.blocks];
        for ix in self.fitting(shape.gpus_per_host) {
            by_block[self.hosts[ix].block].push(ix);
        }
        let chosen = choose_blocks(&by_block, shape.hosts as usize, shape.topology)?;
        let mut hosts: Vec<usize> = Vec::with_capacity(shape.hosts as usize);
        for (block, count) in chosen {
            let in_block = &mut by_block[block];
            in_block.sort_by_key(|ix| self.fit(*ix));
            hosts.extend(in_block.iter().take(count));
        }
        hosts.sort_unstable();
        Some(
            hosts
                .into_iter()
                .map(|ix| (HostIx(ix), lowest(self.free[ix], shape.gpus_per_host)))
                .collect(),
        )
    }

    /// How many hosts have so many free GPUs, the most free GPUs on one host and which, and all free GPUs.
    pub fn survey(&self, gpus: u32) -> (u32, u32, Option<HostIx>, u32) {
        let mut fitting = 0;
        let mut most: (u32, Option<HostIx>) = (0, None);
        let mut all = 0;
        for ix in (0..self.hosts.len()).filter(|ix| self.takes_work(HostIx(*ix))) {
            let free = self.free[ix].count_ones();
            all += free;
            fitting += u32::from(free >= gpus);
            if free > most.0 {
                most = (free, Some(HostIx(ix)));
            }
        }
        (fitting, most.0, most.1, all)
    }

    /// Hosts with so many free GPUs, by block.
    pub fn fitting_by_block(&self, gpus: u32) -> Vec<u32> {
        let mut blocks = vec![0; self.blocks];
        for ix in self.fitting(gpus) {
            blocks[self.hosts[ix].block] += 1;
        }
        blocks
    }
}

/// Which blocks give how many hosts: one block with least left over if one suffices; else, unless it must be one,
/// the largest first and for the rest the block in which least is left over.
pub(super) fn choose_blocks(
    by_block: &[Vec<usize>],
    hosts: usize,
    topology: Topology,
) -> Option<Vec<(usize, usize)>> {
    let tightest = |need: usize, taken: &[(usize, usize)]| {
        let open = |block: &usize| taken.iter().all(|(other, _)| other != block);
        (0..by_block.len())
            .filter(|block| by_block[*block].len() >= need && open(block))
            .min_by_key(|block| (by_block[*block].len(), *block))
    };
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    let mut need = hosts;
    loop {
        if let Some(block) = tightest(need, &chosen) {
            chosen.push((block, need));
            return Some(chosen);
        }
        if topology == Topology::SameBlock {
            return None;
        }
        let open = |block: &usize| chosen.iter().all(|(other, _)| other != block);
        let largest = (0..by_block.len())
            .filter(open)
            .max_by_key(|block| (by_block[*block].len(), std::cmp::Reverse(*block)))?;
        let count = by_block[largest].len();
        if count == 0 {
            return None;
        }
        chosen.push((largest, count));
        need -= count;
    }
}

/// The lowest `count` GPUs of a mask.
pub(super) fn lowest(mut mask: u64, count: u32) -> u64 {
    let mut taken = 0;
    for _ in 0..count {
        let bit = mask & mask.wrapping_neg();
        taken |= bit;
        mask &= !bit;
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gang_takes_the_block_in_which_least_is_left_over() {
        let blocks = vec![vec![0, 1, 2, 3], vec![4, 5, 6], vec![7]];
        let check = |hosts, topology, want: Option<Vec<(usize, usize)>>| {
            assert_eq!(choose_blocks(&blocks, hosts, topology), want, "{hosts} hosts");
        };
        check(1, Topology::Anywhere, Some(vec![(2, 1)]));
        check(3, Topology::Anywhere, Some(vec![(1, 3)]));
        check(4, Topology::SameBlock, Some(vec![(0, 4)]));
        check(5, Topology::SameBlock, None);
        check(5, Topology::Anywhere, Some(vec![(0, 4), (2, 1)]));
        check(8, Topology::Anywhere, Some(vec![(0, 4), (1, 3), (2, 1)]));
        check(9, Topology::Anywhere, None);
    }

    #[test]
    fn the_lowest_gpus_of_a_mask_are_taken() {
        assert_eq!(lowest(0b1011_0100, 3), 0b0011_0100);
        assert_eq!(lowest(u64::MAX, 64), u64::MAX);
    }
}
