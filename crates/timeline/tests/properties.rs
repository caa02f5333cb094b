//! What holds for every condition: it reads back as it was written, and one whose types fit has a value at every look.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../../fuzz/src/condition.rs"]
mod condition;

use narrows_timeline::{Ast, Column, Comparison, Operation, Path, Shape, UNITS, parse};
use proptest::prelude::*;
use proptest::sample::select;

fn boxed(shape: Shape) -> Box<Ast> {
    Box::new(node(shape))
}

const fn node(shape: Shape) -> Ast {
    Ast { column: Column(0), shape }
}

/// Any expression that the grammar can write, whatever its types.
fn any_ast() -> impl Strategy<Value = Ast> {
    let name = "[a-z_][a-z0-9_]{0,6}"
        .prop_filter("a word of the grammar", |name| !["or", "and", "not", "true", "false"].contains(&name.as_str()));
    let number = ("[0-9][0-9_]{0,4}(\\.[0-9]{0,3})?(e[0-9]{1,2})?", proptest::option::of(0..UNITS.len()));
    let path = (name.clone(), proptest::option::of("[a-zA-Z0-9 _-]{0,6}"), prop::collection::vec(name.clone(), 0..3));
    let leaf = prop_oneof![
        number.prop_map(|(text, unit)| Shape::Quantity(text, unit.map(|index| &UNITS[index]))),
        any::<bool>().prop_map(Shape::Truth),
        "[^'\\n]{0,8}".prop_map(Shape::Word),
        path.prop_map(|(head, index, rest)| Shape::Path(Path { head, index, rest })),
    ]
    .prop_map(node);
    leaf.prop_recursive(5, 40, 4, move |inner| {
        let two = (inner.clone(), inner.clone());
        let several = prop::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            inner.clone().prop_map(|part| Shape::Not(boxed(part.shape))),
            inner.clone().prop_map(|part| Shape::Minus(boxed(part.shape))),
            several.clone().prop_map(Shape::All),
            several.prop_map(Shape::Any),
            (select(&Comparison::ALL[..]), two.clone()).prop_map(|(sign, (a, b))| Shape::Compare(
                sign.0,
                Box::new(a),
                Box::new(b)
            )),
            (select(&Operation::ALL[..]), two).prop_map(|(sign, (a, b))| Shape::Arithmetic(
                sign.0,
                Box::new(a),
                Box::new(b)
            )),
            (name.clone(), prop::collection::vec(inner, 0..3)).prop_map(|(name, parts)| Shape::Call(name, parts)),
        ]
        .prop_map(node)
    })
}

/// Text of a value of one of four types: number, data, time, rate.
fn value(dimension: usize, depth: u32) -> BoxedStrategy<String> {
    let leaves: &'static [&'static str] = [
        &["3", "0.5", "2 %", "flow.rounds", "bottleneck.dropped", "rounds_since('a')", "flow.losses"][..],
        &["flow.cwnd", "30 kB", "4 packets", "flow.cc.w_max", "path.bdp", "link['s1-r1'].queue", "flows['s2'].lost"],
        &["flow.srtt", "time", "20 ms", "since('a')", "bottleneck.reverse.queue_delay", "path.rtt", "1 min"],
        &["bottleneck.rate", "flow.cc.max_bw", "12 Mb/s", "flow.pacing_rate", "path.rate", "flow.delivery_rate"],
    ][dimension];
    let leaf = select(leaves).prop_map(str::to_owned);
    if depth == 0 {
        return leaf.boxed();
    }
    let same = || value(dimension, depth - 1);
    let of = move |dimension| value(dimension, depth - 1);
    let combined = match dimension {
        0 => (of(1), of(1)).prop_map(|(a, b)| format!("({a}) / ({b})")).boxed(),
        1 => (of(3), of(2)).prop_map(|(a, b)| format!("({a}) * ({b})")).boxed(),
        2 => (of(1), of(3)).prop_map(|(a, b)| format!("({a}) / ({b})")).boxed(),
        _ => (of(1), of(2)).prop_map(|(a, b)| format!("({a}) / ({b})")).boxed(),
    };
    prop_oneof![
        2 => leaf,
        1 => combined,
        1 => (same(), same()).prop_map(|(a, b)| format!("({a}) + ({b})")),
        1 => (same(), same()).prop_map(|(a, b)| format!("({a}) - ({b})")),
        1 => (of(0), same()).prop_map(|(a, b)| format!("({a}) * ({b})")),
        1 => (same(), same()).prop_map(|(a, b)| format!("max({a}, {b})")),
        1 => same().prop_map(|a| format!("-abs({a})")),
        1 => (select(&["highest", "lowest", "mean", "total", "at"][..]), same())
            .prop_map(|(function, a)| format!("{function}('a', {a})")),
        1 => same().prop_map(|a| format!("was({a})")),
    ]
    .boxed()
}

/// Text of a condition whose types fit.
fn truth(depth: u32) -> BoxedStrategy<String> {
    let words = select(
        &[
            "flow.phase == 'recovery'",
            "flow.cc.phase != 'Drain'",
            "flow.app_limited",
            "happened('a')",
            "true",
            "was(flow.idle)",
        ][..],
    );
    let numbers = (0..4_usize).prop_flat_map(move |dimension| {
        let sign = select(&["==", "!=", "<", "<=", ">", ">="][..]);
        let part = move || value(dimension, depth);
        prop_oneof![
            (part(), sign, part()).prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
            (part(), part(), value(0, 0)).prop_map(|(a, b, c)| format!("near({a}, {b}, {c})")),
            (part(), part(), part()).prop_map(|(a, b, c)| format!("between({a}, {b}, {c})")),
            part().prop_map(|a| format!("{a} > 0")),
        ]
    });
    let leaf = prop_oneof![1 => words.prop_map(str::to_owned), 3 => numbers];
    if depth == 0 {
        return leaf.boxed();
    }
    let inner = move || truth(depth - 1);
    prop_oneof![
        2 => leaf,
        1 => inner().prop_map(|a| format!("not ({a})")),
        1 => (inner(), inner()).prop_map(|(a, b)| format!("({a}) and {b}")),
        1 => (inner(), inner()).prop_map(|(a, b)| format!("{a} or ({b})")),
        1 => (inner(), inner()).prop_map(|(a, b)| format!("({a}) == ({b})")),
    ]
    .boxed()
}

proptest! {
    #[test]
    fn what_is_written_reads_back(ast in any_ast()) {
        let text = ast.to_string();
        prop_assume!(text.len() <= narrows_timeline::LONGEST);
        prop_assert_eq!(parse(&text), Ok(ast), "{}", text);
    }

    #[test]
    fn a_condition_whose_types_fit_is_accepted_and_has_a_value(text in truth(2)) {
        prop_assume!(text.len() <= narrows_timeline::LONGEST);
        prop_assert_eq!(condition::problems(text.as_bytes()), Vec::<String>::new(), "{}", text);
        condition::condition(text.as_bytes());
    }

    #[test]
    fn no_text_breaks_a_rule(text in "[a-z0-9.()<>=+*/' -]{0,60}|(flow\\.cwnd|not|and|[0-9]|ms|[-+*/<>(),' ]){0,30}") {
        condition::condition(text.as_bytes());
    }
}
