//! Pools and their hosts.

use std::collections::BTreeMap;

use serde::Serialize;
use stint_core::api::fleet::HostState;
use stint_core::id::HostId;
use stint_core::input::layout::hosts::{HostsLayout, PoolEntry, read};
use stint_core::standing::LookBack;

use super::error::same;
use super::{Author, ImportError, Mode, begin, end};
use crate::store::pools::{self, HostRecord, PoolRow};
use crate::store::{Connection, Store};

/// What an import of hosts did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostsReport {
    /// Pools that are new.
    pub pools_added: usize,
    /// Hosts that are new.
    pub hosts_added: usize,
    /// Hosts that were there already.
    pub hosts_unchanged: usize,
}

/// Imports a hosts file. Hosts that are stored and not in the file stay.
pub async fn import_hosts(
    store: &Store,
    author: &Author,
    bytes: &[u8],
    mode: Mode,
) -> Result<HostsReport, ImportError> {
    let layout = read(bytes)?;
    let mut transaction = begin(store).await?;
    let report = write(&mut transaction, author, &layout).await?;
    end(transaction, mode).await?;
    Ok(report)
}

pub(super) async fn write(
    db: &mut Connection,
    author: &Author,
    layout: &HostsLayout,
) -> Result<HostsReport, ImportError> {
    let mut report = HostsReport::default();
    let stored = pools::all(&mut *db).await?;
    let mut hosts: BTreeMap<HostId, HostRecord> = BTreeMap::new();
    for pool in &stored {
        let known = pools::hosts(&mut *db, &pool.id).await?;
        hosts.extend(known.into_iter().map(|host| (host.id.clone(), host)));
    }
    for entry in &layout.pools {
        let row = pool_row(entry);
        if let Some(pool) = stored.iter().find(|pool| pool.id == entry.id) {
            same_pool(pool, &row)?;
        } else {
            pools::insert(&mut *db, &row).await?;
            report.pools_added += 1;
        }
        for host in &entry.hosts {
            let row = HostRecord {
                id: host.id.clone(),
                pool_id: entry.id.clone(),
                block_id: host.block.clone(),
                gpus: host.gpus,
                state: HostState::Up,
            };
            if let Some(known) = hosts.get(&row.id) {
                same! { format!("host {}", row.id);
                    "pool": known.pool_id, row.pool_id;
                    "block": known.block_id, row.block_id;
                    "number of GPUs": known.gpus, row.gpus;
                }
                report.hosts_unchanged += 1;
            } else {
                pools::insert_host(&mut *db, &row).await?;
                report.hosts_added += 1;
            }
        }
    }
    if report.pools_added + report.hosts_added > 0 {
        author.note(db, "import.hosts", "hosts", &report).await?;
    }
    Ok(report)
}

fn pool_row(entry: &PoolEntry) -> PoolRow {
    let limits = entry.limits();
    let look_back = match entry.look_back {
        LookBack::Sliding(_) => "sliding",
        LookBack::Fade(_) => "fade",
    };
    PoolRow {
        id: entry.id.clone(),
        reserve_bp: entry.reserve_bp,
        cap_s: limits.cap,
        startup_s: limits.startup_allowance,
        look_back: look_back.to_owned(),
        window_s: entry.look_back.span(),
        margin_milli: entry.margin_milli,
        hosts: limits.hosts,
        gpus: entry.gpus().get(),
        gpus_per_host: limits.gpus_per_host,
    }
}

fn same_pool(stored: &PoolRow, found: &PoolRow) -> Result<(), ImportError> {
    same! { format!("pool {}", stored.id);
        "reserve (basis points)": stored.reserve_bp, found.reserve_bp;
        "cap": stored.cap_s, found.cap_s;
        "start-up allowance": stored.startup_s, found.startup_s;
        "look-back": stored.look_back, found.look_back;
        "length of the look-back": stored.window_s, found.window_s;
        "margin (thousandths)": stored.margin_milli, found.margin_milli;
    }
    Ok(())
}
