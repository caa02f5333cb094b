//! Bad input: each rule's problem, with its line, as a user reads it.

mod common;

use common::{SMALL, bad, bad_with, catalogue, good, good_with};
use narrows_scenario::parse;

/// [`SMALL`] with a line changed.
fn with(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    SMALL.replace(from, to)
}

/// [`SMALL`] with lines before it.
fn after(lines: &str) -> String {
    format!("{lines}\n{SMALL}")
}

/// [`SMALL`] with further settings of its bottleneck.
fn link(settings: &str) -> String {
    with("delay = \"20 ms\"", &format!("delay = \"20 ms\", {settings}"))
}

/// Two hosts and a router, and what follows.
fn graph(rest: &str) -> String {
    format!(
        r#"[[nodes]]
name = "A"
[[nodes]]
name = "R"
kind = "router"
[[nodes]]
name = "B"
{rest}"#
    )
}

const A_R: &str = "[[links]]\nbetween = [\"A\", \"R\"]\nrate = \"1 Mb/s\"\ndelay = \"1 ms\"\n";
const R_B: &str = "[[links]]\nbetween = [\"R\", \"B\"]\nrate = \"1 Mb/s\"\ndelay = \"1 ms\"\n";
const A_TO_B: &str = "[[flows]]\nfrom = \"A\"\nto = \"B\"\n";

/// A golden list: run with `UPDATE_GOLDEN=1` to rewrite it, and read what changed.
#[test]
fn every_rule_has_its_message() {
    let flow = |lines: &str| format!("{SMALL}{lines}\n");
    let red =
        |fields: &str| with("delay = \"20 ms\"", &format!("delay = \"20 ms\", queue = {{ kind = \"red\", {fields} }}"));
    let cases: Vec<(&str, String)> = vec![
        ("broken syntax", "duration = \"60 s\nseed = 1\n".into()),
        ("a key twice", "seed = 1\nseed = 2\n".into()),
        ("nothing at all", String::new()),
        ("comments alone", "# To do\n".into()),
        ("two broken lines", "topology:\n  kind: dumbbell\n".into()),
        ("another format", after("format = 2")),
        ("unknown key, near miss", after("durration = \"1 s\"")),
        ("unknown key, far", flow("colour = \"red\"")),
        ("wrong type", after("seed = \"one\"")),
        ("negative integer", after("seed = -1")),
        ("wrong unit of a rate", with("10 Mb/s", "10 Mbit/h")),
        ("no unit", with("\"20 ms\"", "20")),
        ("no unit in text", with("20 ms", "20")),
        ("negative time", with("20 ms", "-20 ms")),
        ("zero rate", with("10 Mb/s", "0 Mb/s")),
        ("huge time", with("20 ms", "1e30 h")),
        ("zero duration", after("duration = \"0 s\"")),
        ("wrong ip", after("ip = 5")),
        ("near miss of a word", after("sampling = \"event\"")),
        ("name with spaces", after("name = \"two words\"")),
        ("missing rate", with("rate = \"10 Mb/s\", ", "")),
        ("missing kind of topology", with("kind = \"dumbbell\"\n", "")),
        ("unknown kind of topology", with("dumbbell", "dumbell")),
        ("key of another shorthand", with("kind = \"dumbbell\"", "kind = \"dumbbell\"\nhops = 3")),
        (
            "too few access links",
            with("kind = \"dumbbell\"", "kind = \"dumbbell\"\npairs = 3")
                .replace("access = {", "access = [{")
                .replace("\"1 ms\" }", "\"1 ms\" }]"),
        ),
        ("rLEDBAT without timestamps", flow("tcp = { receiver_cc = \"rledbat\", timestamps = false }")),
        ("an unknown control of a receiver", flow("tcp = { receiver_cc = \"ledbat\" }")),
        ("an ACK in no pieces", flow("tcp = { misbehavior = { ack_division = 0 } }")),
        ("an unknown misbehavior", flow("tcp = { misbehavior = { ack_divison = 2 } }")),
        (
            "optimistic ACKs of a receiver that measures",
            flow("tcp = { receiver_cc = \"rledbat\", misbehavior = { optimistic_acks = \"9 kB\" } }"),
        ),
        ("small queues without bursts", flow("tcp = { tsq = true, gso = false }")),
        ("small queues behind a queue that is managed", {
            let text = flow("stack = \"linux\"\ntcp = { tsq = true }");
            text.replace("access = {", "access = { queue = { kind = \"fq_codel\" },")
        }),
        ("small queues of all flows behind a link that changes", {
            let text = flow("[tcp]\nstack = \"linux\"\ntsq = true");
            text.replace("access = {", "access = { changes = [{ at = \"1 s\", rate = \"1 Mb/s\" }],")
        }),
        ("merging for too long", flow("tcp = { gro = \"1 s\" }")),
        ("too many pairs", with("kind = \"dumbbell\"", "kind = \"dumbbell\"\npairs = 600000")),
        ("absurd pairs", with("kind = \"dumbbell\"", "kind = \"dumbbell\"\npairs = 1_000_000_000_000")),
        ("no nodes", "[[flows]]\nfrom = \"a\"\nto = \"b\"\n".into()),
        ("no flows", SMALL.split("[[flows]]").next().unwrap_or("").to_owned()),
        ("empty list of flows", format!("flows = []\n{}", SMALL.split("[[flows]]").next().unwrap_or(""))),
        ("dangling node of a flow", with("\"d1\"", "\"d2\"")),
        ("a flow from a router", with("\"s1\"", "\"r1\"")),
        ("a flow to itself", with("\"d1\"", "\"s1\"")),
        ("dangling node of a link", graph(&format!("{A_R}{}{A_TO_B}", R_B.replace("\"R\"", "\"Q\"")))),
        ("a link to itself", graph(&format!("{A_R}{R_B}{A_TO_B}{}", R_B.replace("\"B\"", "\"R\"")))),
        (
            "the same link twice",
            graph(&format!("{A_R}{R_B}{}{A_TO_B}", R_B.replace("[\"R\", \"B\"]", "[\"B\", \"R\"]"))),
        ),
        ("three ends", graph(&format!("{A_R}{}{A_TO_B}", R_B.replace("\"B\"]", "\"B\", \"A\"]")))),
        ("unreachable", graph(&format!("{A_R}{A_TO_B}"))),
        ("a path through a host", graph(&format!("{A_R}{R_B}{A_TO_B}")).replace("kind = \"router\"\n", "")),
        ("two nodes of one name", graph(&format!("[[nodes]]\nname = \"A\"\n{A_R}{R_B}{A_TO_B}"))),
        ("a node of the shorthand's name", format!("{SMALL}[[nodes]]\nname = \"s1\"\n")),
        ("a node without a name", graph(&format!("[[nodes]]\nkind = \"host\"\n{A_R}{R_B}{A_TO_B}"))),
        ("IPv6 address under ip = 4", format!("{SMALL}[[nodes]]\nname = \"x\"\naddress = \"fd00::1\"\n")),
        ("IPv4 address under ip = 6", format!("ip = 6\n{SMALL}[[nodes]]\nname = \"x\"\naddress = \"10.0.0.1\"\n")),
        ("no address at all", format!("{SMALL}[[nodes]]\nname = \"x\"\naddress = \"10.0.0\"\n")),
        ("multicast address", format!("{SMALL}[[nodes]]\nname = \"x\"\naddress = \"224.0.0.1\"\n")),
        (
            "one address twice",
            format!(
                "{SMALL}[[nodes]]\nname = \"x\"\naddress = \"10.9.9.9\"\n[[nodes]]\nname = \"y\"\naddress = \"10.9.9.9\"\n"
            ),
        ),
        (
            "two flows of one name",
            format!("{SMALL}name = \"x\"\n[[flows]]\nname = \"x\"\nfrom = \"s1\"\nto = \"d1\"\n"),
        ),
        ("a flow without ends", format!("{SMALL}[[flows]]\nname = \"x\"\n")),
        ("stop before start", flow("start = \"5 s\"\nstop = \"5 s\"")),
        ("start after the end", flow("start = \"60 s\"")),
        (
            "start_jitter beyond the stop",
            format!("start_jitter = \"2 s\"\n{}", flow("start = \"3 s\"\nstop = \"5 s\"")),
        ),
        ("start_jitter beyond the end", after("start_jitter = \"1 min\"")),
        (
            "start_jitter of the last copy",
            format!("start_jitter = \"2 s\"\n{}", flow("copies = 3\nstagger = \"1 s\"\nstop = \"4 s\"")),
        ),
        ("last copy after the end", flow("copies = 100\nstagger = \"1 s\"")),
        ("copies without their hosts", with("\"s1\"\nto = \"d1\"", "\"s*\"\nto = \"d*\"\ncopies = 2")),
        ("too many copies", flow("copies = 1000001")),
        ("copies as a float", flow("copies = 1e12")),
        ("DSCP out of range", flow("dscp = 64")),
        ("DSCP unknown", flow("dscp = \"AF3\"")),
        ("key of another kind of flow", flow("think = \"1 s\"")),
        ("missing rate of UDP", flow("kind = \"udp\"")),
        ("unlimited UDP", flow("kind = \"udp\"\nrate = \"unlimited\"")),
        ("TCP settings of UDP", flow("kind = \"udp\"\nrate = \"1 Mb/s\"\ncc = \"cubic\"")),
        ("missing times of on_off", flow("kind = \"on_off\"")),
        ("zero response", flow("kind = \"request_response\"\nresponse = \"0 B\"")),
        ("unknown congestion control", flow("cc = \"cubik\"")),
        ("unknown congestion control of all", after("[tcp]\ncc = \"bsd\"")),
        ("congestion control twice", flow("cc = \"reno\"\ntcp = { cc = \"cubic\" }")),
        ("unknown parameter", flow("tcp = { cc_params = { betta = 0.5 } }")),
        ("parameter out of range", flow("tcp = { cc_params = { beta = 1.5 } }")),
        ("parameter of the wrong kind", flow("tcp = { cc_params = { profile = \"bsd\", fast_convergence = 1 } }")),
        ("parameter of one without", flow("cc = \"reno\"\ntcp = { cc_params = { beta = 0.5 } }")),
        ("unknown scheme", flow("tcp = { assist = \"xcp\" }")),
        ("mss too small", after("[tcp]\nmss = \"40 B\"")),
        ("mss too large", after("[tcp]\nmss = \"70 kB\"")),
        ("cwnd below a segment", after("[tcp]\nmax_cwnd = \"1 kB\"")),
        ("buffer below a segment", flow("tcp = { recv_buffer = \"1 kB\" }")),
        ("SACK recovery without SACK", after("[tcp]\nsack = false\nrecovery = \"sack\"")),
        ("FACK recovery without SACK", flow("tcp = { sack = false, recovery = \"fack\" }")),
        ("RACK recovery without SACK", flow("tcp = { sack = false, recovery = \"rack\" }")),
        ("F-RTO without fast recovery", flow("tcp = { frto = true, recovery = \"tahoe\" }")),
        ("near miss of a recovery", after("[tcp]\nrecovery = \"newrno\"")),
        ("PRR without SACK", after("[tcp]\nsack = false\nreduction = \"prr\"")),
        ("near miss of a reduction", after("[tcp]\nreduction = \"prr-linux\"")),
        ("echo of each mark without ECN", after("[tcp]\necn_echo = \"each_mark\"")),
        (
            "ECN off under an echo of each mark",
            after("[tcp]\necn = true\necn_echo = \"each_mark\"") + "tcp = { ecn = false }\n",
        ),
        ("L4S without ECN", after("[tcp]\ncc = \"prague\"\necn = false")),
        ("L4S over classic ECN", after("[tcp]\necn = true") + "tcp = { cc = \"prague\" }\n"),
        ("L4S as ECT(0)", after("[tcp]\ncc = \"prague\"\nect1 = false")),
        ("near miss of accurate ECN", after("[tcp]\necn = \"acurate\"")),
        ("near miss of an echo", after("[tcp]\necn = true\necn_echo = \"each_mrk\"")),
        ("near miss of an idle restart", after("[tcp]\nidle_restart = \"linx\"")),
        ("pacing of nothing", after("[tcp]\npacing = { slow_start = 0 }")),
        ("pacing of too much", flow("tcp = { pacing = { avoidance = 1001 } }")),
        ("pacing on", after("[tcp]\npacing = true")),
        ("PRR without recovery by SACK", flow("tcp = { reduction = \"prr_linux\", recovery = \"newreno\" }")),
        ("SACK off under PRR", after("[tcp]\nreduction = \"prr\"") + "tcp = { sack = false }\n"),
        ("a recovery without SACK under PRR", after("[tcp]\nreduction = \"prr\"") + "cc = \"tahoe\"\n"),
        ("a name that implies SACK, without SACK", flow("cc = \"fack\"\ntcp = { sack = false }")),
        ("the same under [tcp]", after("[tcp]\nsack = false") + "cc = \"fack\"\n"),
        ("SACK off under a name that implies it", after("[tcp]\ncc = \"fack\"") + "tcp = { sack = false }\n"),
        ("DCTCP without ECN", flow("cc = \"dctcp\"")),
        ("DCTCP of all without ECN", after("[tcp]\ncc = \"dctcp\"") + "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n"),
        ("ECN off under DCTCP", after("[tcp]\ncc = \"dctcp\"\necn = true") + "tcp = { ecn = false }\n"),
        ("near miss of a stack", after("[tcp]\nstack = \"linus\"")),
        ("a stack twice", flow("stack = \"linux\"\ntcp = { stack = \"ns2\" }")),
        ("a stack whose first RTO is too long", after("[tcp]\nrto = { max = \"2 s\" }") + "stack = \"ns2\"\n"),
        (
            "a stack whose segments are too long",
            after("[tcp]\nstack = \"ns2\"\nmax_cwnd = \"1200 B\"") + "stack = \"linux\"\n",
        ),
        (
            "one fault of all flows, and a flow's own congestion control",
            after("[tcp]\nmax_cwnd = \"1 kB\"") + "cc = \"reno\"\n",
        ),
        ("a profile that there is not", flow("cc = \"htcp\"\ntcp = { cc_params = { profile = \"linus\" } }")),
        ("RTO floor above its ceiling", after("[tcp]\nrto = { min = \"2 min\" }")),
        ("first RTO above its ceiling", after("[tcp]\nrto = { max = \"500 ms\", min = \"1 ms\" }")),
        ("delayed ACK on", after("[tcp]\ndelayed_ack = true")),
        ("delayed ACK too long", after("[tcp]\ndelayed_ack = { timeout = \"1 s\" }")),
        ("retries of none", after("[tcp]\nmax_retries = 0")),
        ("retries of too many", flow("tcp = { max_retries = 1001 }")),
        ("retries as a wrong word", after("[tcp]\nmax_retries = \"unlimted\"")),
        ("ACNS of a flow without its table", flow("tcp = { assist = \"acns\" }")),
        ("ACNS of a peer without its table", flow("tcp = { peer_assist = \"acns\" }")),
        ("a peer of an unknown scheme", flow("tcp = { peer_assist = \"acsn\" }")),
        ("a peer with a strange ECN", flow("tcp = { peer_ecn = \"acurate\" }")),
        (
            "ACNS of all flows without its table",
            after("[tcp]\nassist = \"acns\"") + "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n",
        ),
        ("initial window of none", after("[tcp]\ninitial_window = 0")),
        ("probability above one", with("delay = \"20 ms\"", "delay = \"20 ms\", per = 1.5")),
        ("probability as NaN", with("delay = \"20 ms\"", "delay = \"20 ms\", per = nan")),
        ("percentage above 100", with("delay = \"20 ms\"", "delay = \"20 ms\", per = \"101 %\"")),
        ("per beside loss", with("delay = \"20 ms\"", "delay = \"20 ms\", per = 0.1, loss = { kind = \"none\" }")),
        (
            "half a Gilbert-Elliott",
            with("delay = \"20 ms\"", "delay = \"20 ms\", loss = { kind = \"gilbert_elliott\", to_bad = 0.1 }"),
        ),
        ("unknown queue", with("delay = \"20 ms\"", "delay = \"20 ms\", queue = { kind = \"wred\" }")),
        ("queue of no packets", with("delay = \"20 ms\"", "delay = \"20 ms\", queue = { limit = \"0 packets\" }")),
        ("queue as a rate", with("delay = \"20 ms\"", "delay = \"20 ms\", queue = { limit = \"20 Mb/s\" }")),
        ("queue of no time", with("delay = \"20 ms\"", "delay = \"20 ms\", queue = { limit = \"0 ms\" }")),
        (
            "queue of a time below a packet",
            with("delay = \"20 ms\"", "delay = \"20 ms\", queue = { limit = \"1.199999 ms\" }"),
        ),
        (
            "queue of more time than bytes",
            with("rate = \"10 Mb/s\"", "rate = \"10 Tb/s\", queue = { limit = \"1000000 h\" }"),
        ),
        ("all queues of a time below a packet", after("[queue]\nlimit = \"119 us\"")),
        (
            "shaper's bucket below a packet",
            with("delay = \"20 ms\"", "delay = \"20 ms\", queue = { kind = \"tbf\", burst = \"1 kB\" }"),
        ),
        (
            "shaper's peak rate below its rate",
            with("delay = \"20 ms\"", "delay = \"20 ms\", queue = { kind = \"tbf\", peakrate = \"5 Mb/s\" }"),
        ),
        (
            "policer's bucket below a packet",
            with("delay = \"20 ms\"", "delay = \"20 ms\", queue = { kind = \"policer\", burst = \"1 kB\" }"),
        ),
        ("queue below a packet", with("delay = \"20 ms\"", "delay = \"20 ms\", queue = { limit = \"1499 B\" }")),
        ("all queues below a packet", after("[queue]\nlimit = \"1 kB\"")),
        ("RED's key on drop-tail", after("[queue]\nmax_p = 0.1")),
        ("RED thresholds in the wrong order", red("min_threshold = \"20 packets\"")),
        ("RED threshold above the limit", red("limit = \"10 packets\"")),
        ("a change of nothing", with("delay = \"20 ms\"", "delay = \"20 ms\", changes = [{ at = \"1 s\" }]")),
        (
            "changes out of order",
            with(
                "delay = \"20 ms\"",
                "delay = \"20 ms\", changes = [{ at = \"2 s\", rate = \"1 Mb/s\" }, { at = \"1 s\", rate = \"2 Mb/s\" }]",
            ),
        ),
        (
            "a change at the end",
            with("delay = \"20 ms\"", "delay = \"20 ms\", changes = [{ at = \"60 s\", rate = \"1 Mb/s\" }]"),
        ),
        (
            "a change to no rate",
            with("delay = \"20 ms\"", "delay = \"20 ms\", changes = [{ at = \"2 s\", rate = \"0 b/s\" }]"),
        ),
        ("a negative jitter", link("jitter = \"-1 ms\"")),
        ("a jitter without a unit", link("jitter = { time = 5 }")),
        ("a jitter of nothing", link("jitter = { distribution = \"normal\" }")),
        ("near miss of a distribution", link("jitter = { time = \"1 ms\", distribution = \"paretnormal\" }")),
        ("a correlation above one", link("jitter = { time = \"1 ms\", correlation = 1.1 }")),
        ("a duplicate of more than all", link("duplicate = \"101 %\"")),
        ("a correlation of duplicates below zero", link("duplicate = { probability = 0.1, correlation = -0.5 }")),
        ("a gap without a delay", link("reorder = { gap = 5 }")),
        ("reordering of nothing", link("reorder = { delay = \"5 ms\" }")),
        ("reordering by no delay", link("reorder = { delay = \"0 s\", gap = 5 }")),
        ("reordering of all packets", link("reorder = { delay = \"5 ms\", probability = 1 }")),
        ("a gap of every packet", link("reorder = { delay = \"5 ms\", gap = 1 }")),
        ("a gap of zero", link("reorder = { delay = \"5 ms\", gap = 0 }")),
        ("a correlation without a probability", link("reorder = { delay = \"5 ms\", gap = 5, correlation = 0.5 }")),
        ("reordering as a probability", link("reorder = \"25 %\"")),
        (
            "outages that overlap",
            link("outages = [{ start = \"5 s\", duration = \"2 s\" }, { start = \"6 s\", duration = \"2 s\" }]"),
        ),
        ("an outage after the end", link("outages = [{ start = \"60 s\", duration = \"2 s\" }]")),
        ("an outage of no length", link("outages = [{ start = \"5 s\", duration = \"0 s\" }]")),
        (
            "near miss of what an outage does",
            link("outages = [{ start = \"5 s\", duration = \"1 s\", queue = \"dropp\" }]"),
        ),
        ("aggregation without a time", link("aggregation = { packets = 10 }")),
        ("aggregation for no time", link("aggregation = { packets = 10, time = \"0 s\" }")),
        ("aggregation of no packets", link("aggregation = { packets = 0, time = \"1 ms\" }")),
        ("decimation to none", link("ack_decimation = 0")),
        ("decimation of a wrong word", link("ack_decimation = { every = 2, of = \"cumulativ\" }")),
        ("a loss of ACKs above one", link("ack_loss = 2")),
        ("an impairment of one direction", link("reverse = { duplicate = 2 }")),
        ("corruption beside per", link("per = 0.1, corrupt = 0.1")),
        ("near miss of an impairment", link("jiter = \"1 ms\"")),
        ("DCTCP under ACNS", after("[acns]\n[tcp]\ncc = \"dctcp\"\necn = true")),
        ("accurate ECN under ACNS", after("[acns]\n[tcp]\necn = \"accurate\"")),
        ("L4S under ACNS", after("[acns]\n[tcp]\ncc = \"prague\"")),
        ("an echo of each mark under ACNS", after("[acns]\n[tcp]\necn = true\necn_echo = \"each_mark\"")),
        ("ACNS of a flow with DCTCP", {
            let tcp = after("[acns]\n[tcp]\ncc = \"dctcp\"\necn = true\nassist = \"none\"");
            tcp + "tcp = { assist = \"acns\" }\n"
        }),
        ("weights that are not 1", after("[acns]\nv_p = 0.5\nv_a = 0.4")),
        ("a weight twice", after("[acns]\nv_p = 0.5\npriority_weight = 0.5")),
        ("thresholds out of order", after("[acns]\nth_A1 = 1.5")),
        ("loss thresholds out of order", after("[acns]\nth_L1 = 2.0\nth_L2 = 1.9")),
        ("a host as ACNS router", after("[acns]\nrouters = [\"s1\", \"r1\", \"r1\", \"r9\"]")),
        ("a rate as tc writes it", with("10 Mb/s", "10mbit")),
        ("a rate in bytes", with("10 Mb/s", "10 MB/s")),
        ("a rate in lower case", with("10 Mb/s", "10 mbps")),
        ("a time as tc writes it", with("20 ms", "20msec")),
        ("a limit in other words", link("queue = { limit = \"50 pkts\" }")),
        ("a limit where a queue's table is needed", link("queue = \"50 packets\"")),
        ("a number where a queue's table is needed", link("queue = 50")),
        ("a discipline where a queue's table is needed", link("queue = \"codel\"")),
        ("a rate where a link's table is needed", with("{ rate = \"100 Mb/s\", delay = \"1 ms\" }", "\"100 Mb/s\"")),
        ("a congestion control where a table is needed", after("tcp = \"cubic\"")),
        ("a shape where a table is needed", "topology = \"dumbbell\"\n".into()),
        ("a table where a list of tables is needed", SMALL.replace("[[flows]]", "[flows]")),
        ("a text that fits nothing of a table", link("queue = \"small\"")),
        ("a list where a table is needed", after("tcp = []")),
        ("a number in a list of tables", after("links = [1]")),
        ("a date", after("duration = 2020-01-01")),
    ];
    let mut text =
        String::from("# Messages of scenario problems: written and checked by crates/scenario/tests/problems.rs.\n");
    for (title, scenario) in &cases {
        text.push_str(&format!("\n## {title}\n{}\n", bad(scenario)));
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/problems.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    for (found, expected) in text.lines().zip(golden.lines()) {
        assert_eq!(found, expected, "UPDATE_GOLDEN=1 writes tests/problems.txt anew");
    }
    assert_eq!(text, golden);
}

#[test]
fn all_problems_come_at_once_and_in_line_order() {
    let text = "duration = \"1 h x\"\nseed = -1\n[topology]\nkind = \"star\"\naccess = { rate = \"1 kb\", delay = 3 }\n[[flows]]\nfrom = \"h1\"\nto = \"h9\"\ndscp = 99\n";
    let problems = parse(text, "many.toml", &[("ip".into(), "7".into())], &catalogue()).unwrap_err();
    let places: Vec<(String, Option<usize>)> = problems.iter().map(|p| (p.field.clone(), p.line)).collect();
    let expected = [
        ("duration", Some(1)),
        ("seed", Some(2)),
        ("topology.access.rate", Some(5)),
        ("topology.access.delay", Some(5)),
        ("flows[0].to", Some(8)),
        ("flows[0].dscp", Some(9)),
        ("ip", None),
    ];
    assert_eq!(places, expected.map(|(field, line)| (field.to_owned(), line)));
    assert_eq!(problems.0[2].column, Some(19));
    assert_eq!(problems.0[6].path, "--set");
    assert_eq!(problems.to_string().lines().count(), 7, "one line for each");
}

#[test]
fn a_problem_has_its_parts() {
    let problems = parse(&with("10 Mb/s", "10 Mbit/h"), "acns.toml", &[], &catalogue()).unwrap_err();
    let problem = &problems.0[0];
    assert_eq!((problem.path.as_str(), problem.line, problem.column), ("acns.toml", Some(3), Some(23)));
    assert_eq!(problem.field, "topology.bottleneck.rate");
    assert_eq!(problem.value, "\"10 Mbit/h\"");
    assert_eq!(problem.allowed, "a number and b/s, kb/s, Mb/s, Gb/s or Tb/s, more than zero");
    assert_eq!(
        problem.to_string(),
        "acns.toml:3: topology.bottleneck.rate: \"10 Mbit/h\" is not a rate; allowed: a number and b/s, kb/s, Mb/s, Gb/s or Tb/s, more than zero"
    );
}

#[test]
fn overrides_say_what_is_wrong_with_them() {
    let set = |path: &str, value: &str| bad_with(SMALL, &[(path, value)]);
    let expected = [
        (
            set("", "1"),
            "--set: \"\" is not a path; allowed: paths such as duration, tcp.cc, links[0].rate or flows[*].dscp",
        ),
        (
            set("links[0].rate", "1 Mb/s"),
            "--set: \"links[0].rate\" matches no \"links\" in the file; allowed: an entry that the file lists; nodes and links of a shorthand are set in its table",
        ),
        (set("flows[1].dscp", "1"), "--set: \"flows[1].dscp\" matches no [1] in the file; allowed: [0], [*] or a name"),
        (
            set("flows.bulk.dscp", "1"),
            "--set: \"flows.bulk.dscp\" matches nothing called \"bulk\" in the file; allowed: [0], [*] or a name",
        ),
        (
            set("duration[0]", "1"),
            "--set: \"duration[0]\" matches no \"duration\" in the file; allowed: an entry that the file lists; nodes and links of a shorthand are set in its table",
        ),
        (
            set("topology[0].pairs", "1"),
            "--set: \"topology[0].pairs\" has an index where there is no list; allowed: indices after a list",
        ),
        (
            set("duration", "10"),
            "--set: duration: 10 has no unit; allowed: a number and ns, us, ms, s, min or h, more than zero",
        ),
        (
            set("flows[0].cc", "cubik"),
            "--set: flows[0].cc: \"cubik\" is not a congestion control, did you mean `cubic`?; allowed: cubic, reno, none, tahoe, fack, dctcp, prague, bbr, htcp, westwood, vegas",
        ),
    ];
    for (found, expected) in expected {
        assert_eq!(found, expected);
    }
    assert!(
        set("tcp.ccc", "reno").starts_with("--set: tcp.ccc: is not a known key, did you mean `cc`?"),
        "{}",
        set("tcp.ccc", "reno")
    );
}

#[test]
fn overrides_reach_every_part() {
    let text = format!(
        "{SMALL}name = \"bulk1\"\n[[flows]]\nname = \"u\"\nkind = \"udp\"\nrate = \"1 Mb/s\"\nfrom = \"s1\"\nto = \"d1\"\n[acns]\nv_p = 0.8\nv_a = 0.2\n"
    );
    let scenario = good_with(
        &text,
        &[
            ("duration", "10 s"),
            ("tcp.cc", "reno"),
            ("topology.bottleneck.rate", "\"5 Mb/s\""),
            ("topology.bottleneck.queue.limit", "7 packets"),
            ("flows.bulk1.dscp", "EF"),
            ("flows[1].dscp", "9"),
            ("flows[*].tcp.mss", "1000 B"),
            ("acns.age_weight", "0.5"),
            ("acns.v_p", "0.5"),
        ],
    );
    assert_eq!(scenario.duration.as_nanos(), 10_000_000_000);
    assert_eq!(scenario.flows[0].tcp().unwrap().cc, "reno");
    assert_eq!(scenario.links[0].forward.rate.as_bps(), 5_000_000);
    assert_eq!(scenario.flows.iter().map(|flow| flow.dscp).collect::<Vec<_>>(), [46, 9]);
    assert_eq!(scenario.flows[0].tcp().unwrap().mss, 1000, "and the flow of UDP is passed over");
    assert_eq!(
        scenario.scheme.as_ref().map(|acns| acns.values.number("age_weight")),
        Some(Ok(0.5)),
        "an alias replaces the other spelling"
    );
    assert_eq!(scenario.flows[0].assist(), Some("acns"));
    assert_eq!(scenario.flows[0].tcp().unwrap().peer_assist(), Some("acns"), "as the other end");
    let refusing = good_with(&text, &[("flows[0].tcp.peer_assist", "none"), ("flows[0].tcp.peer_ecn", "accurate")]);
    let tcp = refusing.flows[0].tcp().unwrap();
    assert_eq!((tcp.assist.as_deref(), tcp.peer_assist()), (Some("acns"), None));
    assert!(refusing.flows[0].has_assist("acns") && !tcp.config.ecn && tcp.peer_config().accurate_ecn);
    assert_eq!(good(&refusing.to_toml()).flows[0].tcp(), Some(tcp), "shown and read again");
    let off = good_with(&text, &[("acns.enabled", "false")]);
    assert_eq!((&off.scheme, off.flows[0].assist()), (&None, None), "the arm without ACNS");
}

#[test]
fn a_shown_scenario_takes_another_congestion_control() {
    let shown = good(SMALL).to_toml();
    assert!(shown.contains("cc_params = { beta"), "the parameters of cubic are shown");
    let scenario = good_with(&shown, &[("tcp.cc", "reno")]);
    assert_eq!(
        (scenario.flows[0].tcp().unwrap().cc.as_str(), scenario.flows[0].tcp().unwrap().cc_params.len()),
        ("reno", 0)
    );
}

#[test]
fn deep_and_long_input_is_refused_and_nothing_more() {
    assert!(bad(&format!("a = {}", "[".repeat(100_000))).contains("this is not TOML"));
    assert!(bad(&format!("a = {}1{}", "[".repeat(200), "]".repeat(200))).contains("this is not TOML"));
    assert!(bad(&format!("{} = 1", vec!["a"; 10_000].join("."))).contains("test.toml"));
    assert!(bad(&format!("[{}]", vec!["a"; 10_000].join("."))).contains("test.toml"));
    assert!(bad(&after(&format!("seed = {}", "9".repeat(100_000)))).len() < 1000, "values are cut in messages");
    assert!(bad(&after(&format!("name = \"{}\"", "x".repeat(100_000)))).len() < 1000);
    assert!(bad_with(SMALL, &[(&"a.".repeat(10_000), "1")]).contains("--set"));
    assert!(
        bad(&format!(
            "{SMALL}copies = 1000000\n{}",
            "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\ncopies = 1000000\n".repeat(100)
        ))
        .contains("at most 1000000 flows")
    );
}
