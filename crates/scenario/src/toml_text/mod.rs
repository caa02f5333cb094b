//! Writes a scenario as TOML with every default shown; it reads back as an equal scenario.

mod wifi;

use crate::quantity::{show_limit, show_rate, show_size, show_time};
use crate::types::{
    Change, DelayedAck, Direction, Flow, InitialWindow, Limit, Link, Loss, Pacing, ParamValue, Queue, Sampling,
    Scenario, Scheme, Tcp, Traffic,
};
use crate::words::{Word, ip_number};
use narrows_settings::scheme::Value;
use narrows_units::{Bytes, Duration, Instant, Rate};

/// Keys and values of a table, in the order in which they are written.
type Pairs = Vec<(&'static str, String)>;

impl Scenario {
    /// Returns the scenario as a file: shorthands expanded, every default shown, quantities in readable units. Reading
    /// it gives an equal scenario.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        let sampling = match self.sampling {
            Sampling::Off => quoted("off"),
            Sampling::Events => quoted("events"),
            Sampling::Interval(interval) => time(interval),
        };
        lines(
            &mut out,
            &[
                ("format", "1".to_owned()),
                ("name", quoted(&self.name)),
                ("title", quoted(&self.title)),
                ("description", quoted(&self.description)),
                ("duration", time(self.duration)),
                ("seed", self.seed.to_string()),
                ("start_jitter", time(self.start_jitter)),
                ("ip", ip_number(self.ip).to_string()),
                ("sampling", sampling),
            ],
        );
        // `[tcp]` holds the settings of the first TCP flow; the other flows list only what differs.
        let base = self.flows.iter().find(|flow| !is_udp(flow)).map(|flow| &*flow.tcp);
        if let Some(base) = base {
            out.push_str("\n[tcp]\n");
            lines(&mut out, &tcp(base, None));
        }
        if let Some(scheme) = &self.scheme {
            out.push_str(&format!(
                "
[{}]
",
                scheme.row.name
            ));
            lines(&mut out, &self.scheme_pairs(scheme));
        }
        for node in &self.nodes {
            out.push_str("\n[[nodes]]\n");
            let address = quoted(&node.address.to_string());
            lines(&mut out, &[("name", quoted(&node.name)), ("kind", quoted(node.kind.word())), ("address", address)]);
        }
        for link in &self.links {
            out.push_str("\n[[links]]\n");
            lines(&mut out, &self.link_pairs(link));
        }
        for channel in &self.wifi {
            // A single channel is a table, not a list, so that `--set wifi.rate=..` finds it.
            out.push_str(if self.wifi.len() == 1 { "\n[wifi]\n" } else { "\n[[wifi]]\n" });
            lines(&mut out, &self.wifi_pairs(channel));
        }
        for flow in &self.flows {
            out.push_str("\n[[flows]]\n");
            lines(&mut out, &self.flow_pairs(flow, base));
        }
        out
    }

    fn node_name(&self, index: usize) -> String {
        quoted(self.nodes.get(index).map_or("", |node| &node.name))
    }

    fn node_names(&self, indices: &[usize]) -> String {
        let names: Vec<String> = indices.iter().map(|index| self.node_name(*index)).collect();
        format!("[{}]", names.join(", "))
    }

    fn scheme_pairs(&self, scheme: &Scheme) -> Pairs {
        let common = [("enabled", "true".to_owned()), ("routers", self.node_names(&scheme.routers))];
        let params = scheme.values.iter().map(|(name, value)| (name, scheme_value(value)));
        common.into_iter().chain(params).collect()
    }

    fn link_pairs(&self, link: &Link) -> Pairs {
        let mut pairs = vec![("between", format!("[{}, {}]", self.node_name(link.a), self.node_name(link.b)))];
        let forward = direction(&link.forward);
        let reverse = direction(&link.reverse);
        // A queue's table is layered over the other direction's, so it is written in full.
        let different: Pairs = reverse.iter().filter(|pair| !forward.contains(pair)).cloned().collect();
        pairs.extend(forward);
        if !different.is_empty() {
            pairs.push(("reverse", inline(&different)));
        }
        pairs
    }

    fn flow_pairs(&self, flow: &Flow, base: Option<&Tcp>) -> Pairs {
        let mut pairs = vec![
            ("name", quoted(&flow.name)),
            ("from", self.node_name(flow.from)),
            ("to", self.node_name(flow.to)),
            ("kind", quoted(flow.traffic.word())),
            ("start", instant(flow.start)),
            ("stop", if flow.stop.as_nanos() == self.duration.as_nanos() { quoted("end") } else { instant(flow.stop) }),
            ("dscp", flow.dscp.to_string()),
            ("jitter", flow.jitter.to_string()),
        ];
        pairs.extend(traffic(&flow.traffic));
        if is_udp(flow) {
            return pairs;
        }
        let mut different = tcp(&flow.tcp, base);
        if let Some(at) = different.iter().position(|(key, _)| *key == "cc") {
            pairs.push(different.remove(at));
        }
        if !different.is_empty() {
            pairs.push(("tcp", inline(&different)));
        }
        pairs
    }
}

fn is_udp(flow: &Flow) -> bool {
    matches!(flow.traffic, Traffic::Udp { .. })
}

fn lines(out: &mut String, pairs: &[(&str, String)]) {
    for (key, value) in pairs {
        out.push_str(key);
        out.push_str(" = ");
        out.push_str(value);
        out.push('\n');
    }
}

fn inline<K: AsRef<str>>(pairs: &[(K, String)]) -> String {
    if pairs.is_empty() {
        return "{}".to_owned();
    }
    let inner: Vec<String> = pairs.iter().map(|(key, value)| format!("{} = {value}", key.as_ref())).collect();
    format!("{{ {} }}", inner.join(", "))
}

fn direction(direction: &Direction) -> Pairs {
    let changes: Vec<String> = direction.changes.iter().map(change).collect();
    vec![
        ("rate", rate(direction.rate)),
        ("delay", time(direction.delay)),
        ("queue", inline(&queue(&direction.queue))),
        ("loss", inline(&loss(&direction.loss))),
        ("changes", format!("[{}]", changes.join(", "))),
    ]
}

fn change(change: &Change) -> String {
    let mut pairs = vec![("at", instant(change.at))];
    pairs.extend(change.rate.map(|new| ("rate", rate(new))));
    pairs.extend(change.delay.map(|new| ("delay", time(new))));
    inline(&pairs)
}

fn queue(queue: &Queue) -> Pairs {
    let kind = ("kind", quoted(queue.word()));
    match queue {
        Queue::DropTail { limit: most } => vec![kind, ("limit", limit(*most))],
        Queue::Red {
            limit: most,
            min_threshold,
            max_threshold,
            weight,
            max_p,
            gentle,
            ecn,
            bytes_mode,
            wait,
            mean_packet,
        } => {
            let amount = |n: f64| quoted(&format!("{} {}", number(n), if *bytes_mode { "B" } else { "packets" }));
            vec![
                kind,
                ("limit", limit(*most)),
                ("min_threshold", amount(*min_threshold)),
                ("max_threshold", amount(*max_threshold)),
                ("weight", number(*weight)),
                ("max_p", number(max_p.as_f64())),
                ("gentle", gentle.to_string()),
                ("ecn", ecn.to_string()),
                ("bytes_mode", bytes_mode.to_string()),
                ("wait", wait.to_string()),
                ("mean_packet", size(*mean_packet)),
            ]
        }
    }
}

fn loss(loss: &Loss) -> Pairs {
    match loss {
        Loss::None => vec![("kind", quoted("none"))],
        Loss::Uniform(per) => vec![("kind", quoted("uniform")), ("per", number(per.as_f64()))],
        Loss::GilbertElliott { to_bad, to_good, per_good, per_bad } => vec![
            ("kind", quoted("gilbert_elliott")),
            ("to_bad", number(to_bad.as_f64())),
            ("to_good", number(to_good.as_f64())),
            ("per_good", number(per_good.as_f64())),
            ("per_bad", number(per_bad.as_f64())),
        ],
    }
}

fn traffic(traffic: &Traffic) -> Pairs {
    match traffic {
        Traffic::Bulk { size: all } => vec![("size", or_unlimited(all.map(size)))],
        Traffic::RateLimited { rate: pace, write } => vec![("rate", rate(*pace)), ("write", size(*write))],
        Traffic::OnOff { rate: pace, on, off, distribution } => vec![
            ("rate", or_unlimited(pace.map(rate))),
            ("on", time(*on)),
            ("off", time(*off)),
            ("distribution", quoted(distribution.word())),
        ],
        Traffic::RequestResponse { request, response, think, count } => vec![
            ("request", size(*request)),
            ("response", size(*response)),
            ("think", time(*think)),
            ("count", or_unlimited(count.map(|n| n.to_string()))),
        ],
        Traffic::Udp { rate: pace, payload } => vec![("rate", rate(*pace)), ("payload", size(*payload))],
    }
}

/// Returns the settings, or those that differ from `base`.
fn tcp(tcp: &Tcp, base: Option<&Tcp>) -> Pairs {
    let mut pairs = tcp_pairs(tcp);
    let mut timer = rto_pairs(tcp);
    if let Some(base) = base {
        let (below, timer_below) = (tcp_pairs(base), rto_pairs(base));
        // Parameters are inherited only together with their congestion control.
        pairs.retain(|pair| !below.contains(pair) || (pair.0 == "cc_params" && tcp.cc != base.cc));
        timer.retain(|pair| !timer_below.contains(pair));
    }
    if !timer.is_empty() {
        pairs.push(("rto", inline(&timer)));
    }
    pairs
}

fn rto_pairs(tcp: &Tcp) -> Pairs {
    vec![
        ("style", quoted(tcp.rto.style.word())),
        ("initial", time(tcp.rto.initial)),
        ("min", time(tcp.rto.min)),
        ("max", time(tcp.rto.max)),
        ("granularity", time(tcp.rto.granularity)),
    ]
}

fn tcp_pairs(tcp: &Tcp) -> Pairs {
    let params: Vec<(&str, String)> = tcp.cc_params.iter().map(|(name, value)| (name.as_str(), param(value))).collect();
    let initial_window = match tcp.initial_window {
        InitialWindow::Rfc6928 => quoted("rfc6928"),
        InitialWindow::Rfc5681 => quoted("rfc5681"),
        InitialWindow::Segments(n) => n.to_string(),
    };
    let delayed_ack = match tcp.delayed_ack {
        DelayedAck::Off => "false".to_owned(),
        DelayedAck::On { every, timeout } => inline(&[("every", every.to_string()), ("timeout", time(timeout))]),
    };
    let pacing = match tcp.pacing {
        Pacing::Off => "false".to_owned(),
        Pacing::Ratio { slow_start, avoidance } => {
            inline(&[("slow_start", slow_start.to_string()), ("avoidance", avoidance.to_string())])
        }
    };
    vec![
        ("stack", quoted(tcp.stack.word())),
        ("cc", quoted(&tcp.cc)),
        ("cc_params", inline(&params)),
        ("assist", quoted(tcp.assist.as_deref().unwrap_or("none"))),
        ("mss", size(Bytes::new(tcp.mss.into()))),
        ("initial_window", initial_window),
        ("initial_ssthresh", or_unlimited(tcp.initial_ssthresh.map(size))),
        ("max_cwnd", or_unlimited(tcp.max_cwnd.map(size))),
        ("delayed_ack", delayed_ack),
        ("quick_ack", tcp.quick_ack.to_string()),
        ("recovery", quoted(tcp.recovery.word())),
        ("reduction", quoted(tcp.reduction.word())),
        ("dupthresh", tcp.dupthresh.to_string()),
        ("limited_transmit", tcp.limited_transmit.to_string()),
        ("lost_retransmission", tcp.lost_retransmission.to_string()),
        ("undo", tcp.undo.to_string()),
        ("reduce_once", tcp.reduce_once.to_string()),
        ("full_ack_cap", tcp.full_ack_cap.to_string()),
        ("impatient", tcp.impatient.to_string()),
        ("tso", tcp.tso.to_string()),
        ("max_retries", or_unlimited(tcp.max_retries.map(|n| n.to_string()))),
        ("sack", tcp.sack.to_string()),
        ("timestamps", tcp.timestamps.to_string()),
        ("timestamp_offsets", tcp.timestamp_offsets.to_string()),
        ("window_scaling", tcp.window_scaling.to_string()),
        ("ecn", tcp.ecn.to_string()),
        ("ecn_echo", quoted(tcp.ecn_echo.word())),
        ("recv_buffer", size(tcp.recv_buffer)),
        ("autotuning", tcp.autotuning.to_string()),
        ("read_rate", or_unlimited(tcp.read_rate.map(rate))),
        ("nagle", tcp.nagle.to_string()),
        ("idle_restart", quoted(tcp.idle_restart.word())),
        ("cwnd_validation", tcp.cwnd_validation.to_string()),
        ("unused_growth", tcp.unused_growth.to_string()),
        ("slow_start_at_equality", tcp.slow_start_at_equality.to_string()),
        ("pacing", pacing),
    ]
}

fn param(value: &ParamValue) -> String {
    match value {
        ParamValue::Number(n) => number(*n),
        ParamValue::Choice(word) => quoted(word),
        ParamValue::Switch(on) => on.to_string(),
    }
}

fn scheme_value(value: Value) -> String {
    match value {
        Value::Switch(on) => on.to_string(),
        Value::Integer(n) => n.to_string(),
        Value::Number(n) => number(n),
        Value::Time(of) => time(of),
        Value::Size(of) => size(of),
        Value::Word(word) => quoted(word),
    }
}

fn or_unlimited(value: Option<String>) -> String {
    value.unwrap_or_else(|| quoted("unlimited"))
}

fn time(time: Duration) -> String {
    quoted(&show_time(time))
}

fn instant(instant: Instant) -> String {
    quoted(&show_time(Duration::from_nanos(instant.as_nanos())))
}

fn rate(rate: Rate) -> String {
    quoted(&show_rate(rate))
}

fn size(size: Bytes) -> String {
    quoted(&show_size(size))
}

fn limit(limit: Limit) -> String {
    quoted(&show_limit(limit))
}

/// Returns the shortest decimal that reads back as the same float.
fn number(n: f64) -> String {
    format!("{n:?}")
}

/// Returns a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if u32::from(c) < 0x20 || c == '\u{7f}' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
