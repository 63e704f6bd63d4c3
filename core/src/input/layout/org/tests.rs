use proptest::prelude::*;

use super::*;
use crate::units::HOUR_S;

const ZONE: &str = "zone = \"America/Los_Angeles\"\n";

fn node(id: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() {
        String::new()
    } else {
        format!("parent = \"{parent}\"\n")
    };
    format!("[[node]]\nid = \"{id}\"\nkind = \"team\"\nname = \"{id}\"\n{parent}{rest}\n")
}

fn layout(nodes: &[String]) -> Result<OrgLayout, String> {
    let file = format!("{ZONE}{}", nodes.concat());
    read(file.as_bytes()).map_err(|error| error.to_string())
}

fn gross(layout: &OrgLayout, budgetable: GpuSeconds) -> Vec<(&str, i64)> {
    let ids = layout.org.nodes().iter().map(|node| node.id.as_str());
    ids.zip(layout.gross(budgetable).into_iter().map(GpuSeconds::get))
        .collect()
}

#[test]
fn zone_tree_and_people_are_read() {
    let file = format!(
        "{ZONE}{}{}[[person]]\nid = \"mia\"\nname = \"Mia Ortega\"\nroles = [{{ role = \"manager\", node = \"lab\" }}]\n",
        node("lab", "", ""),
        node("a", "lab", "")
    );
    let layout = read(file.as_bytes()).unwrap();
    assert_eq!(layout.zone, "America/Los_Angeles");
    assert_eq!(layout.org.len(), 2);
    let mia = &layout.people[0];
    assert_eq!((mia.id.as_str(), mia.name.as_str()), ("mia", "Mia Ortega"));
    assert_eq!(mia.roles, [(Role::Manager, "lab".parse().unwrap())]);
}

#[test]
fn hours_are_gross_and_what_is_over_stays_undistributed() {
    let layout = layout(&[
        node("lab", "", "hours = 100"),
        node("a", "lab", "hours = 12.25"),
        node("b", "lab", "hours = \"1_0.5\""),
        node("c", "lab", ""),
    ])
    .unwrap();
    let budgetable = GpuSeconds(1);
    assert_eq!(
        gross(&layout, budgetable),
        [("lab", 100 * HOUR_S), ("a", 44_100), ("b", 37_800), ("c", 0)]
    );
    assert_eq!(layout.own(budgetable)[0], GpuSeconds(360_000 - 44_100 - 37_800));
}

#[test]
fn a_node_without_hours_has_what_those_below_it_have() {
    let layout = layout(&[
        node("lab", "", ""),
        node("a", "lab", ""),
        node("a1", "a", "hours = 3"),
        node("a2", "a", "hours = 4"),
    ])
    .unwrap();
    assert_eq!(
        gross(&layout, GpuSeconds::ZERO)[..2],
        [("lab", 7 * HOUR_S), ("a", 7 * HOUR_S)]
    );
}

#[test]
fn weights_split_everything_level_by_level_to_the_last_second() {
    let layout = layout(&[
        node("lab", "", ""),
        node("a", "lab", ""),
        node("a1", "a", "weight = 1"),
        node("a2", "a", "weight = 2"),
        node("b", "lab", "weight = 4"),
        node("c", "lab", "weight = 0"),
    ])
    .unwrap();
    assert_eq!(
        gross(&layout, GpuSeconds(100)),
        [
            ("lab", 100),
            ("a", 43),
            ("a1", 14),
            ("a2", 29),
            ("b", 57),
            ("c", 0)
        ]
    );
    assert_eq!(layout.own(GpuSeconds(100))[0], GpuSeconds::ZERO);
}

#[test]
fn without_any_weight_everything_stays_at_the_root() {
    let layout = layout(&[node("lab", "", ""), node("a", "lab", "")]).unwrap();
    assert_eq!(gross(&layout, GpuSeconds(9)), [("lab", 9), ("a", 0)]);
    assert_eq!(layout.own(GpuSeconds(9))[0], GpuSeconds(9));
}

#[test]
fn amounts_that_are_not_exact_hours_are_refused() {
    let check = |hours: &str, want: &str| {
        let error = layout(&[node("lab", "", &format!("hours = {hours}"))]).unwrap_err();
        assert_eq!(error, format!("line 6, hours: {want}"), "{hours}");
    };
    let accepted = "; accepted: 0 or more, with at most two decimals: hours";
    check("1.234", &format!("\"1.234\"{accepted} have at most two decimals"));
    check("-1", &format!("\"-1\"{accepted} must not be negative"));
    check("-0.5", &format!("\"-0.5\"{accepted} must not be negative"));
    check(
        "true",
        &format!("\"true\"{accepted} must be a number such as 500 or 12.25"),
    );
    check(
        "1e3",
        &format!("\"1e3\"{accepted} must be a number such as 500 or 12.25"),
    );
    check(
        "9000000000000",
        &format!("\"9000000000000\"{accepted} are beyond what any pool can hold"),
    );
}

#[test]
fn what_is_no_tree_is_refused_with_the_line_of_the_node_that_does_not_fit() {
    let check = |nodes: &[String], want: &str| {
        let error = layout(nodes).unwrap_err();
        assert!(error.starts_with(want), "{error}");
    };
    check(&[], "node: the organisation has no nodes");
    check(
        &[node("a", "", ""), node("b", "c", ""), node("c", "b", "")],
        "line 11, parent: node b is its own ancestor; accepted: a node that is not below this one",
    );
    check(
        &[node("a", "", ""), node("b", "x", "")],
        "line 11, parent: node b has the parent x, which does not exist",
    );
    check(
        &[node("a", "", ""), node("a", "", "")],
        "line 8, id: node a is there twice",
    );
    check(
        &[node("a", "", ""), node("b", "", "")],
        "line 8, parent: nodes a and b both have no parent",
    );
    check(
        &[node("a", "", "hours = 1"), node("b", "a", "hours = 1.01")],
        "line 6, hours: a has 1.00 hours; accepted: at least 1.01",
    );
    check(
        &[node("a", "", "hours = 1"), node("b", "a", "weight = 1")],
        "line 12, weight: the file has hours and weights",
    );
    check(
        &[node("a", "", "weight = -1")],
        "line 6, weight: -1; accepted: a whole number from 0",
    );
}

#[test]
fn a_key_a_word_or_an_id_that_is_not_known_is_named_with_its_line() {
    let check = |file: String, want: &str| {
        let error = read(file.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(want), "{error}");
    };
    let lab = node("lab", "", "");
    check(String::new(), "the file is empty");
    check(format!("{ZONE}color = 1\n{lab}"), "line 2: unknown field `color`");
    check(
        format!("{ZONE}{}", node("lab", "", "budget = 5")),
        "line 6: unknown field `budget`",
    );
    check(
        format!("{ZONE}{}", lab.replace("team", "squad")),
        "line 4: unknown variant `squad`",
    );
    check(
        format!("{ZONE}{}", node("Lab", "", "")),
        "line 3: \"Lab\" must be 1 to 63",
    );
    check(
        format!("{ZONE}{}", lab.replace("name = \"lab\"", "name = \" \"")),
        "line 5, name: \"\"; accepted: 1 to 200",
    );
    check(
        format!("zone = \"Mars/Olympus\"\n{lab}"),
        "line 1, zone: \"Mars/Olympus\"; accepted: the name of an IANA",
    );
    check(lab.clone(), "line 1: missing field `zone`");
    let person = |rest: &str| format!("{ZONE}{lab}[[person]]\nid = \"mia\"\nname = \"Mia\"\n{rest}\n");
    check(
        person("roles = [{ role = \"boss\", node = \"lab\" }]"),
        "line 10: unknown variant `boss`",
    );
    check(
        person("roles = [{ role = \"viewer\", node = \"x\" }]"),
        "line 10, node: \"x\"; accepted: the id of a node",
    );
    check(
        person("[[person]]\nid = \"mia\"\nname = \"Mia\""),
        "line 11, id: person mia is there twice",
    );
    check("zone = ".to_owned(), "line 1: ");
}

#[test]
fn bytes_that_are_not_text_are_named_with_their_line() {
    let error = read(b"zone = \"UTC\"\n# \xff\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 2: bytes that are not UTF-8; accepted: UTF-8 text"
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&bytes).is_err(), "random bytes have no zone");
    }

    #[test]
    fn no_value_makes_the_reader_panic(value in "\\PC{0,20}|-?[0-9]{1,30}|-?[0-9]{1,20}\\.[0-9]{0,4}") {
        for key in ["hours", "weight", "name2"] {
            let file = format!("{ZONE}{}", node("lab", "", &format!("{key} = {value}")));
            if let Ok(layout) = read(file.as_bytes()) {
                prop_assert!(layout.gross(GpuSeconds(10))[0] >= GpuSeconds::ZERO);
            }
        }
    }

    #[test]
    fn weights_hand_out_exactly_what_there_is(
        weights in proptest::collection::vec(0..=MAX_WEIGHT, 1..30),
        budgetable in 0..=GpuSeconds::MAX_INPUT.get(),
    ) {
        let mut nodes = vec![node("lab", "", "")];
        nodes.extend((0..).zip(&weights).map(|(n, weight)| node(&format!("t{n}"), "lab", &format!("weight = {weight}"))));
        let layout = layout(&nodes).unwrap();
        let own = layout.own(GpuSeconds(budgetable));
        prop_assert_eq!(own.iter().copied().sum::<GpuSeconds>(), GpuSeconds(budgetable));
        let kept = if weights.iter().all(|weight| *weight == 0) { budgetable } else { 0 };
        prop_assert_eq!(own[0], GpuSeconds(kept));
    }
}
