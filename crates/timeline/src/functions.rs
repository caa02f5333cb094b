//! The functions of expressions, as rows.

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name.
    pub name: &'static str,
    /// Fewest arguments.
    pub least: usize,
    /// Most arguments.
    pub most: usize,
    /// Whether the first argument is the name of a step.
    pub step: bool,
    /// Whether its value depends on earlier looks, so that results show it beside variables.
    pub past: bool,
    /// How it is written.
    pub usage: &'static str,
    /// Its value.
    pub doc: &'static str,
}

const fn plain(name: &'static str, count: (usize, usize), usage: &'static str, doc: &'static str) -> Function {
    Function { name, least: count.0, most: count.1, step: false, past: false, usage, doc }
}

const fn of_step(name: &'static str, count: usize, usage: &'static str, doc: &'static str) -> Function {
    Function { name, least: count, most: count, step: true, past: true, usage, doc }
}

/// All functions, in the order of the reference.
pub const FUNCTIONS: &[Function] = &[
    plain("min", (2, 20), "min(x, y, ..)", "The smallest of its arguments."),
    plain("max", (2, 20), "max(x, y, ..)", "The largest of its arguments."),
    plain("abs", (1, 1), "abs(x)", "The absolute value."),
    plain("between", (3, 3), "between(x, LOW, HIGH)", "Whether `LOW <= x` and `x <= HIGH`."),
    plain("near", (3, 3), "near(x, y, 2 %)", "Whether x differs from y by at most this share of y."),
    Function { past: true, ..plain("was", (1, 1), "was(x)", "The value at the previous look; none at the first.") },
    of_step("at", 2, "at('STEP', x)", "The value when the step happened, before its actions."),
    of_step("since", 1, "since('STEP')", "The time since the step."),
    of_step("rounds_since", 1, "rounds_since('STEP')", "The increase of `flow.rounds` since the step."),
    of_step("highest", 2, "highest('STEP', x)", "The largest value at the looks since the step."),
    of_step("lowest", 2, "lowest('STEP', x)", "The smallest value at the looks since the step."),
    of_step(
        "mean",
        2,
        "mean('STEP', x)",
        "The mean since the step, weighted by time: a value holds until the next look.",
    ),
    of_step("total", 2, "total('STEP', x)", "The increase since the step: `x - at('STEP', x)`."),
    of_step("happened", 1, "happened('STEP')", "Whether the step has happened."),
];
