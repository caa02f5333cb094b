//! The language of conditions as Markdown, from the rows of `narrows_timeline`.

use narrows_timeline::{FUNCTIONS, FlowField, LinkField, PathField, Row, TRUTH, UNITS, Unit};

/// Returns the section on conditions: operators, literals, functions and variables.
pub(crate) fn section() -> String {
    let units: Vec<String> = UNITS.iter().map(|unit| format!("`{}`", unit.name())).collect();
    let mut text = format!(
        "### conditions\n\n\
         What `when`, `always`, `never`, `eventually`, `then` and `unless` take. A condition has types: numbers, times, amounts of data and rates do not mix, and \
         `data / time` is a rate.\n\n\
         | | |\n|---|---|\n\
         | operators, from loose to tight | `or`; `and`; `not`; `== != < <= > >=` (one of them at a time; `==` is exact); `+ -`; `* /`; unary `-` |\n\
         | literals | a number alone or with {}; a packet is `smss` of the flow under test; `true`, `false`; words in single quotes, in any case |\n\
         | no value | before the first RTT sample, for example, `flow.srtt` has none. A comparison with it is neither true nor false; a quotient by zero has no value. |\n\n\
         | function | value |\n|---|---|\n",
        units.join(", ")
    );
    for row in FUNCTIONS {
        text.push_str(&format!("| `{}` | {} |\n", row.usage, row.doc));
    }
    text.push_str(
        "\n| variable | type | meaning |\n|---|---|---|\n\
         | `time` | time | Time since the start of the run. |\n\
         | `flow.cc.NAME` | by its unit | A variable of the congestion control of the flow under test, as `narrows list cc NAME` shows; of a slow start that replaces its own, \
         of a resumed window, and of the scheme. Units of segments become data. |\n\
         | `flow.receiver.NAME` | by its unit | Where the flow has `receiver_cc`, a variable of the receiver's control: \
         stage, window, ssthresh, offered, rtt, base_rtt, queuing_delay, gain, slowdowns, slowdown_time, losses. |\n",
    );
    let of_flow = FlowField::ALL.iter().map(|field| ("flow", field.row()));
    let of_link = LinkField::ALL.iter().map(|field| ("bottleneck", field.row()));
    let of_path = PathField::ALL.iter().map(|field| ("path", field.row()));
    for (owner, row) in of_flow.chain(of_link).chain(of_path) {
        text.push_str(&format!("| `{owner}.{}` | {} | {}{} |\n", row.name, kind(&row), row.doc, words(&row)));
    }
    text.push_str(
        "\n`flow` is the flow under test, `flows['NAME']` any TCP flow. `bottleneck` is the forward direction of that link, `bottleneck.reverse` the other; `link['A-B']` is any link, by the \
         nodes at its ends. `path` is that of the flow under test.\n",
    );
    text
}

fn kind(row: &Row) -> &'static str {
    match row.unit {
        TRUTH => "condition",
        "" if !row.words.is_empty() => "word",
        unit => match Unit::find(unit).map(|unit| (unit.dimension.data, unit.dimension.time)) {
            Some((1, 0)) => "data",
            Some((0, 1)) => "time",
            Some((1, -1)) => "rate",
            _ => "number",
        },
    }
}

fn words(row: &Row) -> String {
    if row.words.is_empty() {
        return String::new();
    }
    let list: Vec<String> = row.words.iter().map(|word| format!("`'{word}'`")).collect();
    format!(" {}.", list.join(", "))
}
