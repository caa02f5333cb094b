//! A scenario as JSON, resolved: names, numbers in base units, units in the keys.

use crate::json_case::case_json;
use crate::quantity::show_limit;
use crate::trace::Trace;
use crate::types::{
    Arrivals, Change, Direction, Flow, Limit, Loss, Pace, Queue, Sampling, Scenario, Scheme, SizeDistribution, Sizes,
    Tcp, Traffic, Wifi, WifiMode, WifiStation, Workload, WorkloadKind,
};
use crate::words::{Word, ip_number};
use crate::write;
use narrows_settings::queue::Value as QueueValue;
use narrows_settings::scheme::{self, Kind};
use serde_json::{Map, Value, json};

impl Scenario {
    /// Returns the scenario with shorthands expanded and names resolved, for drawings and tables: `nodes`, `links`,
    /// `wifi`, `flows`, and a key per scheme, `null` unless it runs. A file with a test case also has `case`
    /// ([`case_json`]). Numbers are in the base units that their keys end in (`_ns`, `_bps`, `_bytes`); `null` is none
    /// or unlimited.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let name = |index: usize| self.nodes.get(index).map_or("", |node| node.name.as_str());
        let nodes = self
            .nodes
            .iter()
            .map(|node| json!({ "name": node.name, "kind": node.kind.word(), "ip_options": node.ip_options.word(), "address": node.address.to_string() }));
        let links = self.links.iter().map(|link| {
            json!({
                "a": name(link.a),
                "b": name(link.b),
                "forward": direction(&link.forward),
                "reverse": direction(&link.reverse),
            })
        });
        let flows = self.listed().map(|flow| {
            json!({
                "name": flow.name,
                "from": name(flow.from),
                "to": name(flow.to),
                "start_ns": flow.start.as_nanos(),
                "stop_ns": flow.stop.as_nanos(),
                "dscp": flow.dscp,
                "jitter": flow.jitter,
                "traffic": traffic(flow),
                "tcp": flow.tcp().map(|settings| tcp(settings)),
            })
        });
        let mut whole = self.json_around();
        if let Value::Object(map) = &mut whole {
            map.insert("nodes".into(), nodes.collect());
            map.insert("links".into(), links.collect());
            map.insert("flows".into(), flows.collect());
        }
        whole
    }

    /// Returns the same without nodes, links and flows.
    pub(crate) fn json_around(&self) -> Value {
        let state = self.sample_state;
        let sampling = match self.sampling {
            Sampling::Off => json!({ "kind": "off", "state": state }),
            Sampling::Events => json!({ "kind": "events", "state": state }),
            Sampling::Interval(interval) => {
                json!({ "kind": "interval", "interval_ns": interval.as_nanos(), "state": state })
            }
        };
        let mut around = json!({
            "format": 1,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "duration_ns": self.duration.as_nanos(),
            "seed": self.seed,
            "start_jitter_ns": self.start_jitter.as_nanos(),
            "ip": ip_number(self.ip),
            "sampling": sampling,
            "workloads": self.workloads.iter().map(|of| self.workload_json(of)).collect::<Vec<_>>(),
            "wifi": self.wifi.iter().map(|channel| self.wifi_json(channel)).collect::<Vec<_>>(),
        });
        for name in &self.known_schemes {
            let runs = self.scheme.as_ref().filter(|scheme| scheme.row.name == *name);
            around[name] = runs.map_or(Value::Null, |scheme| self.scheme_json(scheme));
        }
        if let Some(case) = &self.case {
            around["case"] = case_json(case);
        }
        around
    }

    fn workload_json(&self, workload: &Workload) -> Value {
        let name = |index: usize| self.nodes.get(index).map_or("", |node| node.name.as_str());
        let flow = &workload.flow;
        let pace = match &workload.arrivals {
            Arrivals::Poisson(pace) | Arrivals::Constant(pace) => Some(pace),
            Arrivals::Trace(_) => None,
        };
        let trace = if let Arrivals::Trace(trace) = &workload.arrivals {
            Some(json!({ "file": trace.name, "rows": trace.rows.len() }))
        } else {
            None
        };
        let (request, objects, connections) = match workload.kind {
            WorkloadKind::Transfers => (None, None, None),
            WorkloadKind::Requests { request } => (Some(request), None, None),
            WorkloadKind::Pages { request, objects, connections } => (Some(request), Some(objects), Some(connections)),
        };
        json!({
            "name": flow.name,
            "kind": workload.kind.word(),
            "pairs": workload.pairs.iter().map(|ends| [name(ends.0), name(ends.1)]).collect::<Vec<_>>(),
            "start_ns": flow.start.as_nanos(),
            "stop_ns": flow.stop.as_nanos(),
            "dscp": flow.dscp,
            "arrivals": workload.arrivals.word(),
            "trace": trace,
            "interval_ns": pace.and_then(|pace| match pace {
                Pace::Every(interval) => Some(interval.as_nanos()),
                Pace::Load(_) => None,
            }),
            "load": pace.and_then(|pace| match pace {
                Pace::Every(_) => None,
                Pace::Load(load) => Some(load),
            }),
            "size": trace.is_none().then(|| sizes(&workload.size)),
            "count": workload.count,
            "request_bytes": request.map(narrows_units::Bytes::as_u64),
            "objects": objects,
            "connections": connections,
            "tcp": flow.tcp().map(|settings| tcp(settings)),
        })
    }

    fn wifi_json(&self, channel: &Wifi) -> Value {
        let name = |node: usize| self.nodes.get(node).map_or("", |node| node.name.as_str());
        let station = |index: usize| channel.stations.get(index).map_or("", |station| name(station.node));
        let member = |station: &WifiStation| {
            json!({
                "node": name(station.node),
                "queue": queue(&station.queue),
                "signal_db": station.signal_db,
                "overhead_bytes": station.overhead.as_u64(),
            })
        };
        let mode = match channel.mode {
            WifiMode::Rate(rate) => json!({ "kind": "rate", "rate_bps": rate.as_bps() }),
            WifiMode::Mcs { mcs, width_mhz, streams, short_guard } => json!({
                "kind": "mcs",
                "mcs": mcs,
                "width_mhz": width_mhz,
                "streams": streams,
                "guard_interval_ns": if short_guard { 400 } else { 800 },
            }),
        };
        let errors = channel.errors.iter().map(|error| {
            json!({
                "station": station(error.station),
                "rate_bps": error.rate.map(narrows_units::Rate::as_bps),
                "fer": error.fer.as_f64(),
            })
        });
        let hidden: Vec<[&str; 2]> = channel.hidden.iter().map(|(from, to)| [station(*from), station(*to)]).collect();
        json!({
            "name": channel.name,
            "base": member(&channel.base),
            "stations": channel.stations.iter().map(member).collect::<Vec<_>>(),
            "phy": channel.phy,
            "mode": mode,
            "basic_rate_bps": channel.basic_rate.as_bps(),
            "short_preamble": channel.short_preamble,
            "slot_ns": channel.slot.as_nanos(),
            "sifs_ns": channel.sifs.as_nanos(),
            "cw_min": channel.cw_min,
            "cw_max": channel.cw_max,
            "short_retry": channel.short_retry,
            "long_retry": channel.long_retry,
            "rts_threshold_bytes": channel.rts_threshold.map(narrows_units::Bytes::as_u64),
            "propagation_ns": channel.propagation.as_nanos(),
            "capture_db": channel.capture_db,
            "aggregation": channel.aggregation.map(|aggregation| json!({
                "max_mpdus": aggregation.max_mpdus,
                "max_bytes": aggregation.max_bytes.as_u64(),
                "max_time_ns": aggregation.max_time.as_nanos(),
            })),
            "queues": channel.queues.word(),
            "hidden": hidden,
            "errors": errors.collect::<Vec<_>>(),
        })
    }

    fn names(&self, indices: &[usize]) -> Vec<&str> {
        indices.iter().filter_map(|index| self.nodes.get(*index)).map(|node| node.name.as_str()).collect()
    }

    fn scheme_json(&self, scheme: &Scheme) -> Value {
        let mut map = Map::from_iter([("routers".to_owned(), json!(self.names(&scheme.routers)))]);
        map.extend(scheme.values.iter().map(|(name, value)| scheme_value(scheme, name, value)));
        Value::Object(map)
    }
}

/// Returns the key and the value of a scheme's parameter. `null` stands for no amount of data.
fn scheme_value(scheme: &Scheme, name: &str, value: scheme::Value) -> (String, Value) {
    let sized = scheme.row.param(name).is_some_and(|param| matches!(param.kind, Kind::Size | Kind::Or(Kind::Size, _)));
    match value {
        scheme::Value::Time(time) => (format!("{name}_ns"), json!(time.as_nanos())),
        scheme::Value::Size(size) => (format!("{name}_bytes"), json!(size.as_u64())),
        scheme::Value::Word(_) if sized => (format!("{name}_bytes"), Value::Null),
        scheme::Value::Word(word) => (name.to_owned(), json!(word)),
        scheme::Value::Switch(on) => (name.to_owned(), json!(on)),
        scheme::Value::Integer(n) => (name.to_owned(), json!(n)),
        scheme::Value::Number(n) => (name.to_owned(), json!(n)),
    }
}

pub(crate) fn direction(direction: &Direction) -> Value {
    let mut value = json!({
        "rate_bps": direction.rate.as_bps(),
        "delay_ns": direction.delay.as_nanos(),
        "queue": queue(&direction.queue),
        "loss": loss(&direction.loss),
        "changes": direction.changes.iter().map(change).collect::<Vec<_>>(),
        "impairments": direction.impairments.as_ref().map(|impairments| write::json(&impairments.present())),
    });
    if let (Some(of), Value::Object(map)) = (&direction.trace, &mut value) {
        map.insert("trace".to_owned(), trace(of));
    }
    value
}

/// Returns what describes a trace; its rows are in the TOML text alone.
fn trace(trace: &Trace) -> Value {
    json!({
        "file": trace.name,
        "kind": trace.kind(),
        "rows": trace.rows(),
        "repeat": trace.repeat,
        "period_ns": trace.period().as_nanos(),
        "largest_rate_bps": trace.largest_rate().as_bps(),
    })
}

fn change(change: &Change) -> Value {
    json!({
        "at_ns": change.at.as_nanos(),
        "rate_bps": change.rate.map(narrows_units::Rate::as_bps),
        "delay_ns": change.delay.map(narrows_units::Duration::as_nanos),
    })
}

/// Returns a queue. `limit` is for people, `limit_packets` or `limit_bytes` for programs.
fn queue(queue: &Queue) -> Value {
    let (packets, bytes) = match queue.limit {
        Limit::Packets(n) => (Some(n.as_u64()), None),
        Limit::Bytes(n) => (None, Some(n.as_u64())),
    };
    let mut map = Map::new();
    map.insert("kind".into(), json!(queue.kind));
    map.insert("limit".into(), json!(show_limit(queue.limit)));
    map.insert("limit_packets".into(), json!(packets));
    map.insert("limit_bytes".into(), json!(bytes));
    map.extend(queue.params.iter().map(queue_param));
    Value::Object(map)
}

fn queue_param((name, value): (&'static str, QueueValue)) -> (String, Value) {
    let (unit, value) = match value {
        QueueValue::Switch(on) => ("", json!(on)),
        QueueValue::Integer(n) => ("", json!(n)),
        QueueValue::Number(n) => ("", json!(n)),
        QueueValue::Probability(p) => ("", json!(p.as_f64())),
        QueueValue::Time(time) => ("_ns", json!(time.as_nanos())),
        QueueValue::Rate(rate) => ("_bps", json!(rate.as_bps())),
        QueueValue::Size(size) => ("_bytes", json!(size.as_u64())),
        QueueValue::Amount(amount) => ("", json!(amount.number())),
        QueueValue::Choice(word) => ("", json!(word)),
    };
    (format!("{name}{unit}"), value)
}

fn loss(loss: &Loss) -> Value {
    match loss {
        Loss::None => json!({ "kind": "none" }),
        Loss::Uniform(per) => json!({ "kind": "uniform", "per": per.as_f64() }),
        Loss::GilbertElliott { to_bad, to_good, per_good, per_bad } => json!({
            "kind": "gilbert_elliott",
            "to_bad": to_bad.as_f64(),
            "to_good": to_good.as_f64(),
            "per_good": per_good.as_f64(),
            "per_bad": per_bad.as_f64(),
        }),
    }
}

/// Returns sizes: their distribution, its parameters and the mean.
fn sizes(sizes: &Sizes) -> Value {
    let (shape, file) = match &sizes.distribution {
        SizeDistribution::Pareto { shape, .. } => (Some(*shape), None),
        SizeDistribution::Empirical(table) => (None, Some(table.name.as_str())),
        _ => (None, None),
    };
    json!({
        "distribution": sizes.distribution.word(),
        "mean_bytes": sizes.mean(),
        "shape": shape,
        "file": file,
        "max_bytes": sizes.max.map(narrows_units::Bytes::as_u64),
    })
}

pub(crate) fn traffic(flow: &Flow) -> Value {
    let kind = flow.traffic.word();
    match &flow.traffic {
        Traffic::Bulk { size } => json!({ "kind": kind, "size_bytes": size.map(narrows_units::Bytes::as_u64) }),
        Traffic::RateLimited { rate, write } => {
            json!({ "kind": kind, "rate_bps": rate.as_bps(), "write_bytes": write.as_u64() })
        }
        Traffic::OnOff { rate, on, off, distribution } => json!({
            "kind": kind,
            "rate_bps": rate.map(narrows_units::Rate::as_bps),
            "on_ns": on.as_nanos(),
            "off_ns": off.as_nanos(),
            "distribution": distribution.word(),
        }),
        Traffic::RequestResponse { request, response, think, count } => json!({
            "kind": kind,
            "request_bytes": request.as_u64(),
            "response_bytes": match (&response.distribution, response.max) {
                (SizeDistribution::Constant(size), None) => json!(size.as_u64()),
                _ => sizes(response),
            },
            "think_ns": think.as_nanos(),
            "count": count,
        }),
        Traffic::Video(video) => json!({
            "kind": kind,
            "request_bytes": video.request.as_u64(),
            "ladder_bps": video.ladder.iter().map(|rate| rate.as_bps()).collect::<Vec<_>>(),
            "segment_ns": video.segment.as_nanos(),
            "buffer_ns": video.buffer.as_nanos(),
            "reservoir_ns": video.reservoir.as_nanos(),
            "cushion_ns": video.cushion.as_nanos(),
            "startup_ns": video.startup.as_nanos(),
            "length_ns": video.length.map(narrows_units::Duration::as_nanos),
        }),
        Traffic::Page(page) => json!({ "kind": kind, "objects": page.objects.len() }),
        Traffic::Datagrams { rate, pauses } => {
            let payload = flow.udp().map(|udp| udp.payload.as_u64());
            let mut value = json!({ "kind": kind, "rate_bps": rate.as_bps(), "payload_bytes": payload });
            if let Some(pauses) = pauses {
                value["on_ns"] = json!(pauses.on.as_nanos());
                value["off_ns"] = json!(pauses.off.as_nanos());
                value["distribution"] = json!(pauses.distribution.word());
            }
            value
        }
        Traffic::Frames { rate, frame_rate } => {
            let payload = flow.udp().map(|udp| udp.payload.as_u64());
            json!({ "kind": kind, "rate_bps": rate.as_bps(), "frame_rate": frame_rate, "payload_bytes": payload })
        }
    }
}

/// Returns a flow's TCP settings, as their rows say.
pub(crate) fn tcp(tcp: &Tcp) -> Value {
    write::json(&tcp.record())
}
