//! The hosts file: `[[pool]] id, reserve_bp, cap_s, startup_s, window_s, look_back, margin_milli` and
//! `[[hosts]] pool, prefix, count, gpus, block_size` for hosts named by rule, or `[[host]] pool, id, block, gpus`
//! for single ones.
//!
//! `prefix = "gpu", count = 32, block_size = 8` makes `gpu-a01` to `gpu-a08` in block `gpu-a`, and so on to `gpu-d08`.
//! Both tables may say how hosts break in a simulation: `mean_days_between_faults` and `repair_hours = [0.5, 4]`.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::{BadInput, Source, excerpt};
use crate::id::{BlockId, HostId, PoolId};
use crate::sched::contract::{Limits, MAX_GPUS_PER_HOST, SHORTEST_MIN_RUNTIME};
use crate::standing::LookBack;
use crate::units::{DAY_S, GpuSeconds, Gpus, HOUR_S, Seconds};

/// The most hosts in one file, ten times the largest fleets known.
pub const MAX_HOSTS: usize = 100_000;
/// The longest prefix of host names: it leaves room for block and number in an id.
const MAX_PREFIX: usize = 40;
/// The longest cap on minimum runtimes, and the longest start-up allowance.
const LONGEST_CAP: Seconds = Seconds(30 * DAY_S);
/// The longest look-back.
const LONGEST_WINDOW: Seconds = Seconds(366 * DAY_S);
/// The largest margin of displacement, in thousandths of a standing.
const MAX_MARGIN: i64 = 1_000;

/// Pools and hosts as their file describes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostsLayout {
    /// The pools, by id.
    pub pools: Vec<PoolEntry>,
}

/// A pool with its rules and hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolEntry {
    /// Its id.
    pub id: PoolId,
    /// What is kept back for repairs and the debug lane, in basis points.
    pub reserve_bp: u32,
    /// The longest minimum runtime.
    pub cap: Seconds,
    /// How long a start may take.
    pub startup_allowance: Seconds,
    /// How the past is weighed in standings.
    pub look_back: LookBack,
    /// By how many thousandths a side must stand higher before it is asked to yield.
    pub margin_milli: i64,
    /// Its hosts, by id.
    pub hosts: Vec<HostEntry>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEntry {
    /// Its id.
    pub id: HostId,
    /// The block it stands in.
    pub block: BlockId,
    /// Its GPUs.
    pub gpus: u32,
    /// How it breaks in a simulation; never, if absent.
    pub faults: Option<Faults>,
}

/// How often a host breaks, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The mean time between two faults.
    pub mean_between: Seconds,
    /// The shortest repair.
    pub shortest_repair: Seconds,
    /// The longest repair.
    pub longest_repair: Seconds,
}

impl PoolEntry {
    /// All its GPUs.
    pub fn gpus(&self) -> Gpus {
        self.hosts.iter().map(|host| Gpus(host.gpus)).sum()
    }

    /// What workloads must fit.
    pub fn limits(&self) -> Limits {
        Limits {
            hosts: u32::try_from(self.hosts.len()).unwrap_or(u32::MAX),
            gpus_per_host: self.hosts.iter().map(|host| host.gpus).max().unwrap_or(0),
            cap: self.cap,
            startup_allowance: self.startup_allowance,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    pool: Vec<PoolTable>,
    #[serde(default)]
    hosts: Vec<GroupTable>,
    #[serde(default)]
    host: Vec<HostTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PoolTable {
    id: Spanned<PoolId>,
    reserve_bp: Option<Spanned<i64>>,
    cap_s: Option<Spanned<i64>>,
    startup_s: Option<Spanned<i64>>,
    window_s: Option<Spanned<i64>>,
    look_back: Option<LookBackWord>,
    margin_milli: Option<Spanned<i64>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LookBackWord {
    #[default]
    Sliding,
    Fade,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupTable {
    pool: Spanned<PoolId>,
    prefix: Spanned<String>,
    count: Spanned<i64>,
    gpus: Spanned<i64>,
    block_size: Spanned<i64>,
    mean_days_between_faults: Option<Spanned<i64>>,
    repair_hours: Option<Spanned<Vec<Spanned<toml::Value>>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostTable {
    pool: Spanned<PoolId>,
    id: Spanned<HostId>,
    block: BlockId,
    gpus: Spanned<i64>,
    mean_days_between_faults: Option<Spanned<i64>>,
    repair_hours: Option<Spanned<Vec<Spanned<toml::Value>>>>,
}

/// Reads a hosts file.
///
/// # Errors
/// The first thing that doesn't fit, with its line.
pub fn read(bytes: &[u8]) -> Result<HostsLayout, BadInput> {
    let source = Source::new(bytes)?;
    let file: File = source.parse()?;
    let mut pools: BTreeMap<PoolId, PoolEntry> = BTreeMap::new();
    for table in &file.pool {
        let entry = pool(source, table)?;
        if let Some(twice) = pools.insert(entry.id.clone(), entry) {
            let found = format!("pool {} is there twice", twice.id);
            return Err(source.error(table.id.span(), "id", found, "an id of its own"));
        }
    }
    let mut fleet = Fleet {
        source,
        pools,
        hosts: BTreeMap::new(),
    };
    for table in &file.hosts {
        fleet.add_group(table)?;
    }
    for table in &file.host {
        fleet.add_single(table)?;
    }
    fleet.finished(&file.pool)
}

fn pool(source: Source<'_>, table: &PoolTable) -> Result<PoolEntry, BadInput> {
    let usual = Limits::default();
    let whole = |value: &Option<Spanned<i64>>, field, range, default: i64| {
        value
            .as_ref()
            .map_or(Ok(default), |value| source.whole(value, field, range))
    };
    let shortest = SHORTEST_MIN_RUNTIME.get();
    let cap = whole(
        &table.cap_s,
        "cap_s",
        shortest..=LONGEST_CAP.get(),
        usual.cap.get(),
    )?;
    let startup = whole(
        &table.startup_s,
        "startup_s",
        0..=LONGEST_CAP.get(),
        usual.startup_allowance.get(),
    )?;
    let window = whole(
        &table.window_s,
        "window_s",
        HOUR_S..=LONGEST_WINDOW.get(),
        7 * DAY_S,
    )?;
    let reserve = table.reserve_bp.as_ref();
    Ok(PoolEntry {
        id: table.id.get_ref().clone(),
        reserve_bp: reserve.map_or(Ok(300), |value| source.whole(value, "reserve_bp", 0..=10_000))?,
        cap: Seconds(cap),
        startup_allowance: Seconds(startup),
        look_back: match table.look_back.unwrap_or_default() {
            LookBackWord::Sliding => LookBack::Sliding(Seconds(window)),
            LookBackWord::Fade => LookBack::Fade(Seconds(window)),
        },
        margin_milli: whole(&table.margin_milli, "margin_milli", 0..=MAX_MARGIN, 10)?,
        hosts: Vec::new(),
    })
}

/// The pools while hosts are being added to them.
struct Fleet<'a> {
    source: Source<'a>,
    pools: BTreeMap<PoolId, PoolEntry>,
    /// Which pool each host is in.
    hosts: BTreeMap<HostId, PoolId>,
}

impl Fleet<'_> {
    fn add_group(&mut self, table: &GroupTable) -> Result<(), BadInput> {
        let source = self.source;
        let most = i64::try_from(MAX_HOSTS).unwrap_or(i64::MAX);
        let count: usize = source.whole(&table.count, "count", 1..=most)?;
        let block_size: usize = source.whole(&table.block_size, "block_size", 1..=most)?;
        let gpus = source.whole(&table.gpus, "gpus", 1..=MAX_GPUS_PER_HOST.into())?;
        let faults = faults(
            source,
            table.mean_days_between_faults.as_ref(),
            table.repair_hours.as_ref(),
        )?;
        let prefix = table.prefix.get_ref();
        let digits = block_size.to_string().len().max(2);
        for at in 0..count {
            let block = format!("{prefix}-{}", letters(at / block_size));
            let id = format!("{block}{:0digits$}", at % block_size + 1);
            let (Some(block), Ok(id), true) = (
                block.parse().ok(),
                id.parse::<HostId>(),
                prefix.len() <= MAX_PREFIX,
            ) else {
                let accepted = format!("1 to {MAX_PREFIX} of a-z, 0-9, '.', '_' and '-', as ids begin");
                return Err(source.error(table.prefix.span(), "prefix", excerpt(prefix), &accepted));
            };
            let entry = HostEntry {
                id,
                block,
                gpus,
                faults,
            };
            self.add(&table.pool, table.prefix.span(), entry)?;
        }
        Ok(())
    }

    fn add_single(&mut self, table: &HostTable) -> Result<(), BadInput> {
        let source = self.source;
        let faults = faults(
            source,
            table.mean_days_between_faults.as_ref(),
            table.repair_hours.as_ref(),
        )?;
        let entry = HostEntry {
            id: table.id.get_ref().clone(),
            block: table.block.clone(),
            gpus: source.whole(&table.gpus, "gpus", 1..=MAX_GPUS_PER_HOST.into())?,
            faults,
        };
        self.add(&table.pool, table.id.span(), entry)
    }

    fn add(
        &mut self,
        pool: &Spanned<PoolId>,
        span: std::ops::Range<usize>,
        entry: HostEntry,
    ) -> Result<(), BadInput> {
        let Some(into) = self.pools.get_mut(pool.get_ref()) else {
            let found = excerpt(pool.get_ref().as_str());
            return Err(self
                .source
                .error(pool.span(), "pool", found, "the id of a [[pool]] in this file"));
        };
        if self.hosts.len() >= MAX_HOSTS {
            let found = format!("more than {MAX_HOSTS} hosts");
            return Err(self
                .source
                .error(span, "count", found, &format!("at most {MAX_HOSTS} in all")));
        }
        if self.hosts.insert(entry.id.clone(), into.id.clone()).is_some() {
            let found = format!("host {} is there twice", entry.id);
            return Err(self.source.error(span, "id", found, "an id of its own"));
        }
        into.hosts.push(entry);
        Ok(())
    }

    fn finished(self, tables: &[PoolTable]) -> Result<HostsLayout, BadInput> {
        if self.pools.is_empty() {
            return Err(BadInput {
                line: None,
                field: Some("pool".to_owned()),
                found: "there is no pool".to_owned(),
                accepted: "at least one [[pool]] with hosts".to_owned(),
            });
        }
        for table in tables {
            if self
                .pools
                .get(table.id.get_ref())
                .is_some_and(|pool| pool.hosts.is_empty())
            {
                let found = format!("pool {} has no hosts", table.id.get_ref());
                return Err(self
                    .source
                    .error(table.id.span(), "pool", found, "at least one host"));
            }
        }
        let mut pools: Vec<PoolEntry> = self.pools.into_values().collect();
        for pool in &mut pools {
            pool.hosts.sort_by(|a, b| a.id.cmp(&b.id));
        }
        Ok(HostsLayout { pools })
    }
}

/// The name of a block by its place: a to z, then aa and on.
fn letters(place: usize) -> String {
    let mut name = Vec::new();
    let mut rest = place + 1;
    while rest > 0 {
        rest -= 1;
        name.push(char::from(b'a' + u8::try_from(rest % 26).unwrap_or(0)));
        rest /= 26;
    }
    name.into_iter().rev().collect()
}

fn faults(
    source: Source<'_>,
    mean_days: Option<&Spanned<i64>>,
    repair: Option<&Spanned<Vec<Spanned<toml::Value>>>>,
) -> Result<Option<Faults>, BadInput> {
    let (mean_days, repair) = match (mean_days, repair) {
        (None, None) => return Ok(None),
        (Some(mean_days), Some(repair)) => (mean_days, repair),
        (Some(lone), None) => return Err(half_a_pair(source, lone.span())),
        (None, Some(lone)) => return Err(half_a_pair(source, lone.span())),
    };
    let days: i64 = source.whole(mean_days, "mean_days_between_faults", 1..=36_500)?;
    let read = |value: &Spanned<toml::Value>| {
        let hours = GpuSeconds::from_hours_text(source.written(value)).ok()?;
        Some(Seconds(hours.get())).filter(|span| *span <= LONGEST_CAP)
    };
    let bounds: Option<Vec<Seconds>> = repair.get_ref().iter().map(read).collect();
    match bounds.as_deref() {
        Some([shortest, longest]) if *shortest > Seconds::ZERO && shortest <= longest => Ok(Some(Faults {
            mean_between: Seconds(days * DAY_S),
            shortest_repair: *shortest,
            longest_repair: *longest,
        })),
        _ => {
            let found = source.text.get(repair.span()).map(excerpt).unwrap_or_default();
            let accepted = "the shortest and the longest repair in hours, such as [0.5, 4], at most 30 days";
            Err(source.error(repair.span(), "repair_hours", found, accepted))
        }
    }
}

fn half_a_pair(source: Source<'_>, span: std::ops::Range<usize>) -> BadInput {
    source.error(
        span,
        "mean_days_between_faults",
        "one of mean_days_between_faults and repair_hours".to_owned(),
        "both, or neither",
    )
}

#[cfg(test)]
mod tests;
