//! The GPUs of a host as a row of cells: whose, and whether they may be taken.

use stint_core::api::fleet::{HostRow, HostState};
use stint_core::sched::contract::WorkloadState;

/// Side of a cell.
pub const SIDE: u32 = 16;
/// From one cell to the next.
pub const STEP: u32 = 19;
/// The most cells in a row of the drawing; larger hosts go on in the next row.
pub const ROW: u32 = 16;

/// What a cell shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Nothing runs there.
    Idle,
    /// The host takes no work.
    Off,
    /// Held by a run; the run's position in [`HostRow::runs`].
    Held {
        /// The run.
        run: usize,
        /// Whether it is protected, or on its way there.
        solid: bool,
    },
}

/// One GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its index on the host.
    pub gpu: u32,
    /// Its left edge.
    pub x: u32,
    /// Its top edge.
    pub y: u32,
    /// What it shows.
    pub filling: Filling,
}

/// The cells of a host, by index. A run on a host that is not up is still shown: it is still there.
pub fn cells(host: &HostRow) -> Vec<Cell> {
    let free = if host.state == HostState::Up {
        Filling::Idle
    } else {
        Filling::Off
    };
    (0..host.gpus)
        .map(|gpu| {
            let run = host
                .runs
                .iter()
                .position(|run| run.gpus.iter().any(|held| u32::from(*held) == gpu));
            let filling = run.map_or(free, |run| Filling::Held {
                run,
                solid: is_solid(host.runs[run].state),
            });
            Cell {
                gpu,
                x: gpu % ROW * STEP,
                y: gpu / ROW * STEP,
                filling,
            }
        })
        .collect()
}

/// Width and height of a host's drawing.
pub fn size(gpus: u32) -> (u32, u32) {
    let across = gpus.clamp(1, ROW);
    let down = gpus.div_ceil(ROW).max(1);
    (across * STEP - (STEP - SIDE), down * STEP - (STEP - SIDE))
}

/// Protected work is solid; what may be taken is hatched.
fn is_solid(state: WorkloadState) -> bool {
    matches!(state, WorkloadState::Protected | WorkloadState::Starting)
}

#[cfg(test)]
mod tests {
    use stint_core::api::fleet::HostRun;
    use stint_core::id::{RunId, WorkloadId};

    use super::*;

    fn run(gpus: &[u8], state: WorkloadState) -> HostRun {
        HostRun {
            run: RunId(1),
            workload: WorkloadId(1),
            name: None,
            node: "vision".parse().unwrap(),
            node_name: "vision".to_owned(),
            hue: 3,
            gpus: gpus.to_vec(),
            state,
            protected_until: None,
        }
    }

    fn host(state: HostState, gpus: u32) -> HostRow {
        HostRow {
            id: "gpu-a01".parse().unwrap(),
            block: "a".parse().unwrap(),
            gpus,
            free: 0,
            state,
            runs: vec![
                run(&[0, 1], WorkloadState::Protected),
                run(&[3], WorkloadState::Unallocated),
            ],
        }
    }

    #[test]
    fn cells_show_who_holds_them_and_whether_they_may_be_taken() {
        let got: Vec<Filling> = cells(&host(HostState::Up, 4)).iter().map(|c| c.filling).collect();
        let held = |run, solid| Filling::Held { run, solid };
        assert_eq!(got, [held(0, true), held(0, true), Filling::Idle, held(1, false)]);
    }

    #[test]
    fn free_gpus_of_a_host_that_is_not_up_are_off_and_its_runs_are_still_there() {
        for state in [HostState::Draining, HostState::Down, HostState::Unknown] {
            let cells = cells(&host(state, 4));
            assert_eq!(cells[2].filling, Filling::Off);
            assert_eq!(cells[0].filling, Filling::Held { run: 0, solid: true });
        }
    }

    #[test]
    fn a_large_host_goes_on_in_the_next_row() {
        let cells = cells(&host(HostState::Up, 20));
        assert_eq!((cells[16].x, cells[16].y), (0, STEP));
        assert_eq!(size(8), (8 * STEP - 3, SIDE));
        assert_eq!(size(20), (16 * STEP - 3, 2 * STEP - 3));
        assert_eq!(size(0), (SIDE, SIDE));
    }
}
