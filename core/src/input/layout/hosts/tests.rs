use proptest::prelude::*;

use super::*;

const POOL: &str = "[[pool]]\nid = \"h100\"\n";
const GROUP: &str = "[[hosts]]\npool = \"h100\"\nprefix = \"gpu\"\ncount = 5\ngpus = 8\nblock_size = 2\n";

fn ids(pool: &PoolEntry) -> Vec<(&str, &str)> {
    pool.hosts
        .iter()
        .map(|host| (host.id.as_str(), host.block.as_str()))
        .collect()
}

#[test]
fn hosts_are_named_by_block_and_number() {
    let layout = read(format!("{POOL}{GROUP}").as_bytes()).unwrap();
    assert_eq!(
        ids(&layout.pools[0]),
        [
            ("gpu-a01", "gpu-a"),
            ("gpu-a02", "gpu-a"),
            ("gpu-b01", "gpu-b"),
            ("gpu-b02", "gpu-b"),
            ("gpu-c01", "gpu-c")
        ]
    );
    assert_eq!(layout.pools[0].gpus(), Gpus(40));
}

#[test]
fn blocks_beyond_the_alphabet_get_two_letters() {
    let check = |place: usize, want: &str| assert_eq!(letters(place), want);
    check(0, "a");
    check(25, "z");
    check(26, "aa");
    check(701, "zz");
    check(702, "aaa");
}

#[test]
fn what_a_pool_does_not_say_follows_the_policy() {
    let layout = read(format!("{POOL}{GROUP}").as_bytes()).unwrap();
    let pool = &layout.pools[0];
    assert_eq!((pool.reserve_bp, pool.margin_milli), (300, 10));
    assert_eq!(pool.look_back, LookBack::Sliding(Seconds(7 * DAY_S)));
    assert_eq!(
        pool.limits(),
        Limits {
            hosts: 5,
            gpus_per_host: 8,
            ..Limits::default()
        }
    );
}

#[test]
fn what_a_pool_says_is_kept() {
    let file = format!(
        "{POOL}reserve_bp = 0\ncap_s = 14400\nstartup_s = 60\nwindow_s = 907200\nlook_back = \"fade\"\nmargin_milli = 0\n\
         [[host]]\npool = \"h100\"\nid = \"big-1\"\nblock = \"b1\"\ngpus = 16\nmean_days_between_faults = 40\nrepair_hours = [0.5, 4]\n"
    );
    let pool = &read(file.as_bytes()).unwrap().pools[0];
    assert_eq!(
        (pool.reserve_bp, pool.cap, pool.startup_allowance),
        (0, Seconds(14_400), Seconds(60))
    );
    assert_eq!(pool.look_back, LookBack::Fade(Seconds(907_200)));
    let faults = Faults {
        mean_between: Seconds(40 * DAY_S),
        shortest_repair: Seconds(1_800),
        longest_repair: Seconds(14_400),
    };
    assert_eq!(pool.hosts[0].faults, Some(faults));
    assert_eq!(ids(pool), [("big-1", "b1")]);
}

#[test]
fn what_does_not_fit_is_named_with_its_line() {
    let check = |file: &str, want: &str| {
        let error = read(file.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(want), "{error}");
    };
    check("", "the file is empty");
    check(
        "pools = 1",
        "line 1: unknown field `pools`, expected one of `pool`, `hosts`, `host`",
    );
    check(
        &format!("{POOL}cap = 5\n{GROUP}"),
        "line 3: unknown field `cap`, expected one of `id`",
    );
    check(
        &format!("{POOL}cap_s = 299\n{GROUP}"),
        "line 3, cap_s: 299; accepted: a whole number from 300",
    );
    check(
        &format!("{POOL}reserve_bp = 10001\n{GROUP}"),
        "line 3, reserve_bp: 10001; accepted: a whole number from 0 to 10000",
    );
    check(
        &format!("{POOL}look_back = \"week\"\n{GROUP}"),
        "line 3: unknown variant `week`, expected `sliding` or `fade`",
    );
    check(
        &format!("{POOL}{POOL}{GROUP}"),
        "line 4, id: pool h100 is there twice",
    );
    check(POOL, "line 2, pool: pool h100 has no hosts");
    check("host = []", "pool: there is no pool");
    check(GROUP, "line 2, pool: \"h100\"; accepted: the id of a [[pool]]");
    check(
        &format!("{POOL}{GROUP}{GROUP}"),
        "line 11, id: host gpu-a01 is there twice",
    );
    check(
        &format!("{POOL}{}", GROUP.replace("count = 5", "count = 0")),
        "line 6, count: 0; accepted: a whole number from 1 to 100000",
    );
    check(
        &format!("{POOL}{}", GROUP.replace("gpus = 8", "gpus = 65")),
        "line 7, gpus: 65; accepted: a whole number from 1 to 64",
    );
    check(
        &format!("{POOL}{}", GROUP.replace("\"gpu\"", "\"GPU\"")),
        "line 5, prefix: \"GPU\"; accepted: 1 to 40",
    );
    check(
        &format!("{POOL}{GROUP}repair_hours = [4, 0.5]\nmean_days_between_faults = 40\n"),
        "line 9, repair_hours: \"[4, 0.5]\"; accepted: the shortest and the longest",
    );
    check(
        &format!("{POOL}{GROUP}mean_days_between_faults = 40\n"),
        "line 9, mean_days_between_faults: one of",
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&bytes).is_err(), "random bytes have no pool with hosts");
    }

    #[test]
    fn no_value_makes_the_reader_panic(value in "\\PC{0,20}|-?[0-9]{1,22}|\\[[0-9., -]{0,12}\\]", key in 0_usize..5) {
        let keys = ["count = 5", "gpus = 8", "block_size = 2", "prefix = \"gpu\"", "pool = \"h100\""];
        let name = keys[key].split(' ').next().unwrap();
        let file = format!("{POOL}{}", GROUP.replace(keys[key], &format!("{name} = {value}")));
        if let Ok(layout) = read(file.as_bytes()) {
            prop_assert!(!layout.pools[0].hosts.is_empty());
        }
    }
}
