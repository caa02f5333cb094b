//! Three toy disciplines, each as one would stand in `crates/queue`: a row, a type, and how it is built.

use narrows_queue::registry::{Broken, Discipline, Kind, Param, Params, Word, free};
use narrows_queue::{
    Aqm, Dequeued, DropReason, Dropped, Enqueued, Fifo, Limit, Queue, QueueView, Row, Setup, Verdict, droptail,
};
use narrows_rng::Stream;
use narrows_units::Variable;
use narrows_units::{Duration, Instant, Packets, Rate};
use narrows_wire::Packet;

const fn time(name: &'static str, doc: &'static str, default: u64, min: u64, max: u64) -> Param {
    let [default, min, max] = [Duration::from_micros(default), Duration::from_micros(min), Duration::from_micros(max)];
    Param { name, doc, kind: Kind::Time { default, min, max } }
}

/// As PIE: a timer sets the probability of drops by how long the queue is at that time.
pub static TICKER: Row = Row {
    about: Discipline {
        name: "ticker",
        title: "Ticker",
        doc: "drops at random, with a probability that a timer sets",
        sources: &["none"],
        params: &[
            time("interval", "Time between two updates.", 15_000, 1, 10_000_000),
            time("target", "Delay that the controller aims at.", 5_000, 1, 10_000_000),
            Param {
                name: "gain",
                doc: "Gain of the controller.",
                kind: Kind::Number { unit: "1/s", default: 1.0, min: 0.0, max: 100.0 },
            },
        ],
        variables: &[Variable::new("p", "", "Probability of a drop.")],
        tail_only: false,
        fit: ordered,
        source: "",
    },
    build: |Setup { limit, params, chance }| {
        let [interval, target] = ["interval", "target"].map(|name| params.time(name));
        let gain = params.number("gain");
        let next = Instant::ZERO + interval;
        Box::new(Fifo::new(limit, Ticker { interval, target, gain, p: 0.0, offset: 0.0, next, chance }))
    },
};

fn ordered(params: &mut Params, _limit: Limit) -> Result<(), Broken> {
    let [interval, target] = ["interval", "target"].map(|name| params.time(name));
    if target <= interval {
        return Ok(());
    }
    let allowed = format!("at most {interval}");
    Err(Broken { param: "target", reason: "is above the interval".to_owned(), allowed })
}

#[derive(Debug)]
struct Ticker {
    interval: Duration,
    target: Duration,
    gain: f64,
    p: f64,
    /// Added to `p`: a fraction that depends on the exact time of the latest update.
    offset: f64,
    next: Instant,
    chance: Stream,
}

impl Aqm for Ticker {
    fn on_enqueue(&mut self, _packet: &Packet, _view: &QueueView, _now: Instant) -> Verdict {
        if self.chance.chance(self.p + self.offset) { Verdict::Drop(DropReason::Early) } else { Verdict::Pass }
    }

    fn next_timer(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn on_timer(&mut self, view: &QueueView, now: Instant) {
        assert_eq!(now, self.next, "exactly then");
        let delay = view.rate.time_for(view.bytes).as_secs_f64();
        self.p = (self.p + self.gain * (delay - self.target.as_secs_f64())).clamp(0.0, 0.5);
        // Up to 5 %, by the nanosecond of the update.
        self.offset = (now.as_nanos() % 997) as f64 / 997.0 / 20.0;
        self.next = now + self.interval;
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("p", self.p);
    }
}

/// Two queues by DSCP, one served before the other.
pub static CLASSES: Row = Row {
    about: Discipline {
        name: "classes",
        title: "Two classes",
        doc: "two queues, by DSCP, one served before the other",
        sources: &["none"],
        params: &[Param {
            name: "order",
            doc: "Which queue is served first.",
            kind: Kind::Choice {
                default: "strong_first",
                words: &[Word("strong_first", "packets with a DSCP"), Word("weak_first", "packets without one")],
            },
        }],
        variables: &[],
        tail_only: false,
        fit: free,
        source: "",
    },
    build: |Setup { limit, params, .. }| {
        let order = if params.choice("order") == "weak_first" { [1, 0] } else { [0, 1] };
        Box::new(Classes { queues: [droptail(limit), droptail(limit)], order })
    },
};

#[derive(Debug)]
struct Classes {
    queues: [Box<dyn Queue>; 2],
    order: [usize; 2],
}

impl Queue for Classes {
    fn enqueue(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        let class = usize::from(packet.ip.dscp() == 0);
        let subqueue = class as u32;
        let enqueued = self.queues[class].enqueue(packet, now, dropped);
        dropped.iter_mut().for_each(|drop| drop.subqueue = subqueue);
        Enqueued { subqueue, ..enqueued }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        self.order.iter().find_map(|&class| {
            let next = self.queues[class].dequeue(now, dropped)?;
            Some(Dequeued { subqueue: class as u32, ..next })
        })
    }

    fn view(&self) -> QueueView {
        let [strong, weak] = [self.queues[0].view(), self.queues[1].view()];
        QueueView { bytes: strong.bytes + weak.bytes, packets: strong.packets + weak.packets, ..weak }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.queues.iter_mut().for_each(|queue| queue.set_rate(rate));
    }

    fn subqueues(&self) -> Vec<String> {
        vec!["strong".to_owned(), "weak".to_owned()]
    }
}

/// A gate that is shut for the first half of each interval, and open for the second.
pub static GATE: Row = Row {
    about: Discipline {
        name: "gate",
        title: "Gate",
        doc: "lets packets pass in the second half of each interval",
        sources: &["none"],
        params: &[time("interval", "Time between two openings.", 200_000, 100_001, 10_000_000)],
        variables: &[],
        tail_only: false,
        fit: free,
        source: "",
    },
    build: |Setup { limit, params, .. }| {
        let half = params.time("interval") / 2;
        Box::new(Gate { inner: droptail(limit), half, open: false, next: Instant::ZERO + half })
    },
};

#[derive(Debug)]
struct Gate {
    inner: Box<dyn Queue>,
    half: Duration,
    open: bool,
    next: Instant,
}

impl Queue for Gate {
    fn enqueue(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        self.inner.enqueue(packet, now, dropped)
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        if self.open { self.inner.dequeue(now, dropped) } else { None }
    }

    fn view(&self) -> QueueView {
        self.inner.view()
    }

    fn set_rate(&mut self, rate: Rate) {
        self.inner.set_rate(rate);
    }

    fn next_timer(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn on_timer(&mut self, now: Instant, dropped: &mut Vec<Dropped>) {
        assert_eq!(now, self.next, "exactly then");
        self.open = !self.open;
        self.next = now + self.half;
        // What has waited for half a second when the gate shuts is dropped, so that a timer that drops is tested too.
        let old = |queue: &dyn Queue| queue.view().packets > Packets::new(400);
        while !self.open && old(&*self.inner) {
            let Some(first) = self.inner.dequeue(now, dropped) else { break };
            dropped.push(Dropped { packet: first.packet, reason: DropReason::Forced, subqueue: 0 });
        }
    }
}
