//! A bare event loop, as the lower bound on the simulator's cost: the benchmark's networks, packet by packet and exact,
//! without TCP.
//!
//! ```text
//! cargo run --release -p narrows-sim --example bare -- flows=100 pairs=100 rate=1000 rtt_min=20 rtt_max=120 \
//!     queue=5833 folded=1
//! ```
//!
//! Each flow keeps a fixed window of packets in flight: a packet crosses three links, its ACK three links back, and
//! each arriving ACK releases the next packet. Nothing is lost, nothing is measured, and connections have no state.
//! Windows fill the bandwidth-delay product and half of the queue. A link is a FIFO whose departures are computed at
//! arrival, and a ring of packets on the wire. A winner tree over the rings' heads gives the next event.
//!
//! `folded=0`: an event for each arrival at a node, six for a packet and its ACK. `folded=1`: a link that is fed by
//! only one other link has no events; it is computed together with the link before it. Two events are left, at the
//! entries of the two directions of the bottleneck.
//!
//! The keys are those of the benchmark's programs for other simulators (`bench/htsim/speed.cpp`).
//! Prints one JSON object.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::VecDeque;
use std::process::ExitCode;

const DATA_BYTES: u64 = 1500;
const ACK_BYTES: u64 = 52;

fn main() -> ExitCode {
    match Options::read(std::env::args().skip(1)).and_then(|options| Loop::new(&options).run(&options)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("bare: {message}");
            ExitCode::FAILURE
        }
    }
}

/// What to run; rates in Mb/s, times in ms and s, queues in packets.
struct Options {
    flows: u32,
    pairs: u32,
    rate: u64,
    rtt_min: f64,
    rtt_max: f64,
    queue: u64,
    seconds: f64,
    spread: f64,
    folded: bool,
}

impl Options {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            flows: 1,
            pairs: 1,
            rate: 1000,
            rtt_min: 12.0,
            rtt_max: 12.0,
            queue: 100,
            seconds: 20.0,
            spread: 0.0,
            folded: true,
        };
        for argument in arguments {
            let (key, text) = argument.split_once('=').ok_or(format!("{argument:?} is not key=value"))?;
            let value: f64 = text.parse().map_err(|_| format!("{key}: {text:?} is not a number"))?;
            if !(0.0..=1e9).contains(&value) {
                return Err(format!("{key}: {text} is not between 0 and 1e9"));
            }
            match key {
                "flows" => options.flows = (value as u32).max(1),
                "pairs" => options.pairs = (value as u32).max(1),
                "rate" => options.rate = (value as u64).max(1),
                "rtt_min" => options.rtt_min = value,
                "rtt_max" => options.rtt_max = value,
                "queue" => options.queue = value as u64,
                "access_queue" => {} // access links are never the bottleneck, and nothing is lost
                "seconds" => options.seconds = value,
                "spread" => options.spread = value,
                "folded" => options.folded = value != 0.0,
                _ => return Err(format!("unknown key {key}")),
            }
        }
        Ok(options)
    }

    fn rtt_ms(&self, pair: u32) -> f64 {
        if self.pairs == 1 {
            return self.rtt_min;
        }
        self.rtt_min + f64::from(pair) / f64::from(self.pairs - 1) * (self.rtt_max - self.rtt_min)
    }

    /// The window of each flow in packets.
    fn window(&self) -> u32 {
        let bdp = self.rate as f64 * 1e6 * f64::midpoint(self.rtt_min, self.rtt_max) / 1e3 / 8.0 / DATA_BYTES as f64;
        ((bdp + self.queue as f64 / 2.0) / f64::from(self.flows)).ceil().max(1.0) as u32
    }
}

/// A packet on a wire: its flow, and when it arrives at the far end.
#[derive(Clone, Copy)]
struct Flying {
    arrival_ns: u64,
    flow: u32,
}

/// One direction of a link. All its packets have one size, so they have one transmission time.
struct Link {
    transmission_ns: u64,
    delay_ns: u64,
    free_ns: u64,
    /// Whether several links feed the next one, so that the order of packets has to be found by an event.
    event: bool,
    wire: VecDeque<Flying>,
}

impl Link {
    fn new(rate_mbps: u64, delay_ms: f64, bytes: u64, event: bool) -> Self {
        let transmission_ns = (bytes * 8 * 1000).div_ceil(rate_mbps);
        Self { transmission_ns, delay_ns: (delay_ms * 1e6) as u64, free_ns: 0, event, wire: VecDeque::new() }
    }

    fn transmit(&mut self, now_ns: u64) -> u64 {
        self.free_ns = self.free_ns.max(now_ns) + self.transmission_ns;
        self.free_ns + self.delay_ns
    }
}

/// The earliest of many times, one for each link, in a complete binary tree of winners.
struct Winners {
    times: Vec<u64>,
    /// `tree[1]` is the winner of all; the leaves are not kept.
    tree: Vec<u32>,
}

impl Winners {
    fn new(entries: usize) -> Self {
        let leaves = entries.next_power_of_two().max(2);
        let mut winners = Self { times: vec![u64::MAX; leaves], tree: vec![0; leaves] };
        for entry in (0..leaves).step_by(2) {
            winners.set(entry, u64::MAX);
        }
        winners
    }

    fn set(&mut self, entry: usize, time_ns: u64) {
        self.times[entry] = time_ns;
        let leaves = self.times.len();
        let mut node = (leaves + entry) / 2;
        let pair = (entry & !1) as u32;
        let mut winner = if self.times[pair as usize] <= self.times[pair as usize + 1] { pair } else { pair + 1 };
        loop {
            self.tree[node] = winner;
            if node == 1 {
                return;
            }
            let rival = self.tree[node ^ 1];
            if self.times[rival as usize] < self.times[winner as usize] {
                winner = rival;
            }
            node /= 2;
        }
    }
}

/// Links in the order of a packet's path. Pair `p` has the six from `6 p` on, but all pairs use the two directions of
/// the bottleneck (1 and 4) of pair 0.
struct Loop {
    links: Vec<Link>,
    winners: Winners,
    pairs: u32,
    delivered: u64,
    events: u64,
}

impl Loop {
    fn new(options: &Options) -> Self {
        let mut links = Vec::new();
        for pair in 0..options.pairs {
            let rtt = options.rtt_ms(pair);
            let (rate, access, middle) = if options.pairs == 1 {
                (options.rate, rtt / 6.0, rtt / 6.0)
            } else {
                (options.rate * 10, (rtt / 2.0 - 1.0) / 2.0, 1.0)
            };
            for (rate, delay, bytes, merges) in [
                (rate, access, DATA_BYTES, true),
                (options.rate, middle, DATA_BYTES, false),
                (rate, access, DATA_BYTES, false),
                (rate, access, ACK_BYTES, true),
                (options.rate, middle, ACK_BYTES, false),
                (rate, access, ACK_BYTES, false),
            ] {
                links.push(Link::new(rate, delay, bytes, merges || !options.folded));
            }
        }
        let winners = Winners::new(links.len());
        Self { links, winners, pairs: options.pairs, delivered: 0, events: 0 }
    }

    fn run(mut self, options: &Options) -> Result<String, String> {
        let end_ns = (options.seconds * 1e9) as u64;
        let window = options.window();
        for flow in 0..options.flows {
            let start_ns = (options.spread * 1e9 * f64::from(flow) / f64::from(options.flows)) as u64;
            for _ in 0..window {
                self.forward(flow, 0, start_ns, end_ns);
            }
        }
        loop {
            let head = self.winners.tree[1] as usize;
            let now_ns = self.winners.times[head];
            if now_ns > end_ns {
                break;
            }
            self.events += 1;
            let wire = &mut self.links[head].wire;
            let Some(packet) = wire.pop_front() else { return Err("a link without packets had an event".into()) };
            let next_ns = wire.front().map_or(u64::MAX, |p| p.arrival_ns);
            self.winners.set(head, next_ns);
            if head % 6 == 2 {
                self.delivered += 1;
            }
            self.forward(packet.flow, (head % 6 + 1) % 6, now_ns, end_ns);
        }
        Ok(format!(
            "{{\"version\": \"{}\", \"delivered_packets\": {}, \"sent_packets\": null, \"events\": {}, \
             \"peak_rss_bytes\": {}}}",
            env!("CARGO_PKG_VERSION"),
            self.delivered,
            self.events,
            peak_rss_bytes()?
        ))
    }

    /// Sends a packet over the link at `hop` of its flow's path, and over further links until other packets may come
    /// between.
    fn forward(&mut self, flow: u32, mut hop: usize, mut now_ns: u64, end_ns: u64) {
        let pair = (flow % self.pairs) as usize;
        loop {
            let link = if hop % 3 == 1 { hop } else { 6 * pair + hop };
            let arrival_ns = self.links[link].transmit(now_ns);
            if self.links[link].event {
                let wire = &mut self.links[link].wire;
                wire.push_back(Flying { arrival_ns, flow });
                if wire.len() == 1 {
                    self.winners.set(link, arrival_ns);
                }
                return;
            }
            if hop == 2 && arrival_ns <= end_ns {
                self.delivered += 1;
            }
            now_ns = arrival_ns;
            hop = (hop + 1) % 6;
        }
    }
}

fn peak_rss_bytes() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|e| e.to_string())?;
    let line = status.lines().find(|l| l.starts_with("VmHWM")).ok_or("no VmHWM")?;
    let kib: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).ok_or("no VmHWM")?;
    Ok(kib * 1024)
}
