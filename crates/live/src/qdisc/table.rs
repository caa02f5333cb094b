//! Linux's form of each discipline: its module, and our parameters as its settings.

use super::message::{Attributes, rate_spec, ticks};
use super::red;
use crate::LiveError;
use narrows_queue::DropReason;
use narrows_scenario::{Direction, Queue};
use narrows_settings::queue::{Amount, Limit};
use narrows_units::{Duration, Rate};

/// A discipline as Linux takes it.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Linux's name.
    pub(super) kind: &'static str,
    /// Its settings, in the words of `tc`.
    pub(super) words: String,
    /// Its settings, as attributes.
    pub(super) options: Attributes,
    /// The device's MTU, which some disciplines take as the size of a packet.
    pub(super) mtu: u32,
    /// Which packets leave in the order in which they came.
    pub(super) order: Order,
    /// Why it refuses a packet while fewer packets than `room` wait.
    pub(super) arriving: DropReason,
    /// Number of packets from which a refusal is an overflow.
    pub(super) room: u64,
}

/// Which packets of a discipline leave in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// All.
    All,
    /// Those of a flow.
    Flow,
    /// Those of a class of L4S: ECT(1) and CE, or all others. Packets of one flow may belong to both.
    Class,
}

/// A row of the table: our name, Linux's module, and the translation.
struct Row {
    name: &'static str,
    module: &'static str,
    translate: fn(&mut Made, &Direction) -> Result<(), Refusal>,
}

/// A parameter that Linux has no counterpart of.
struct Refusal {
    param: &'static str,
    value: String,
    reason: &'static str,
    allowed: String,
}

const TABLE: [Row; 8] = [
    Row { name: "cake", module: "sch_cake", translate: cake },
    Row { name: "codel", module: "sch_codel", translate: codel },
    Row { name: "dualpi2", module: "sch_dualpi2", translate: dualpi2 },
    Row { name: "fq", module: "sch_fq", translate: fq },
    Row { name: "fq_codel", module: "sch_fq_codel", translate: fq_codel },
    Row { name: "pie", module: "sch_pie", translate: pie },
    Row { name: "red", module: "sch_red", translate: red_settings },
    Row { name: "tbf", module: "sch_tbf", translate: tbf },
];

/// Returns the names of the disciplines that Linux has too.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|row| row.name)
}

/// Returns the module of Linux's form of a discipline; `None` if Linux has none.
pub(super) fn module(name: &str) -> Option<&'static str> {
    TABLE.iter().find(|row| row.name == name).map(|row| row.module)
}

/// Returns Linux's form of the discipline of a direction; `None` if Linux has none.
///
/// # Errors
/// [`LiveError::Unsupported`] with the parameter, below `field`, that Linux cannot be given.
pub(super) fn settings(direction: &Direction, field: &str) -> Result<Option<Settings>, LiveError> {
    let Some(row) = TABLE.iter().find(|row| row.name == direction.queue.kind) else { return Ok(None) };
    let mut made = Made(Settings {
        kind: row.name,
        words: row.name.to_owned(),
        options: Attributes::default(),
        mtu: 1500,
        order: Order::Flow,
        arriving: DropReason::Overflow,
        room: u64::MAX,
    });
    let refused = |Refusal { param, value, reason, allowed }: Refusal| LiveError::Unsupported {
        field: format!("{field}.{param}"),
        value,
        reason: reason.to_owned(),
        allowed,
    };
    (row.translate)(&mut made, direction).map_err(refused)?;
    Ok(Some(made.0))
}

/// Settings that are being made: each call adds words and an attribute.
struct Made(Settings);

impl Made {
    fn say(&mut self, words: &str) {
        self.0.words.push(' ');
        self.0.words.push_str(words);
    }

    fn count(&mut self, name: &str, number: u16, value: u64) -> u32 {
        let value = u32::try_from(value).unwrap_or(u32::MAX);
        self.say(&format!("{name} {value}"));
        self.0.options.put_u32(number, value);
        value
    }

    /// Adds a time in microseconds, at least one.
    fn time(&mut self, name: &str, number: u16, value: Duration) {
        let micros = u32::try_from(value.as_nanos() / 1000).unwrap_or(u32::MAX).max(1);
        self.say(&format!("{name} {micros}us"));
        self.0.options.put_u32(number, micros);
    }

    /// Adds a number of one byte.
    fn byte(&mut self, words: &str, number: u16, value: u8) {
        self.say(words);
        self.0.options.put(number, &[value]);
    }

    fn switch(&mut self, on: (&str, &str), number: u16, value: bool) {
        let word = if value { on.0 } else { on.1 };
        if !word.is_empty() {
            self.say(word);
        }
        self.0.options.put_u32(number, u32::from(value));
    }

    /// Adds the limit, which Linux counts in packets.
    fn packets(&mut self, queue: &Queue, number: u16) -> Result<(), Refusal> {
        match queue.limit {
            Limit::Packets(n) => {
                self.0.room = u64::from(self.count("limit", number, n.as_u64()));
                Ok(())
            }
            Limit::Bytes(n) => Err(Refusal {
                param: "limit",
                value: n.to_string(),
                reason: "Linux counts packets here",
                allowed: "a number of packets".to_owned(),
            }),
        }
    }

    /// Notes the size of a packet, which Linux takes from the device.
    fn packet_size(&mut self, queue: &Queue) -> Result<(), Refusal> {
        let mtu = queue.params.size("mtu");
        match u32::try_from(mtu.as_u64()) {
            Ok(known @ 1500..=65_535) => {
                self.0.mtu = known;
                Ok(())
            }
            _ => refuse("mtu", mtu, "Linux takes the device's MTU", "1500 B to 65535 B"),
        }
    }
}

fn refuse<T>(param: &'static str, value: impl ToString, reason: &'static str, allowed: &str) -> Result<T, Refusal> {
    Err(Refusal { param, value: value.to_string(), reason, allowed: allowed.to_owned() })
}

/// Returns the limit, which Linux counts in bytes.
fn bytes(queue: &Queue) -> Result<u32, Refusal> {
    match queue.limit {
        Limit::Bytes(n) => Ok(u32::try_from(n.as_u64()).unwrap_or(u32::MAX)),
        Limit::Packets(n) => refuse("limit", format!("{} packets", n.as_u64()), "Linux counts bytes here", "a size"),
    }
}

/// A time that is never reached, as our disciplines have it.
const NEVER: Duration = Duration::from_secs(3600);

fn codel(made: &mut Made, of: &Direction) -> Result<(), Refusal> {
    let params = &of.queue.params;
    made.packets(&of.queue, 2)?;
    made.time("target", 1, params.time("target"));
    made.time("interval", 3, params.time("interval"));
    made.switch(("ecn", "noecn"), 4, params.switch("ecn"));
    made.0.order = Order::All;
    made.packet_size(&of.queue)
}

/// Attributes of Linux 6.17 (`TCA_DUALPI2_*`). Linux's memory limit has no counterpart in ours: with the largest one
/// the number of packets alone limits.
fn dualpi2(made: &mut Made, of: &Direction) -> Result<(), Refusal> {
    /// `TC_DUALPI2_ECN_MASK_L4S_ECT`: ECT(1) and, as it has this bit too, CE enter the L4S queue.
    const L4S_ECT: u8 = 1;
    /// Linux keeps some times as 32 bits of nanoseconds, and shortens longer ones.
    const LONGEST: Duration = Duration::from_nanos(4_294_967_000);
    let params = &of.queue.params;
    for (param, ours, reason, allowed) in [
        ("l4s_aqm", "ramp", "Linux has the step alone", "step"),
        ("scheduler", "tsfifo", "Linux has weighted round robin alone", "wrr"),
    ] {
        if params.choice(param) == ours {
            return refuse(param, ours, reason, allowed);
        }
    }
    if !params.switch("ce_is_l4s") {
        return refuse("ce_is_l4s", false, "Linux's mask of ECT(1) includes CE", "true");
    }
    if params.integer("th_len") > 1 {
        return refuse("th_len", params.integer("th_len"), "Linux spares packets by min_qlen_step alone", "0 or 1");
    }
    made.packets(&of.queue, 1)?;
    made.count("memlimit", 2, u64::from(u32::MAX));
    made.time("target", 3, params.time("target"));
    for (param, number) in [("tupdate", 4), ("step_thresh", 8)] {
        let time = params.time(param);
        if time > LONGEST {
            return refuse(param, time, "Linux keeps 32 bits of nanoseconds", "at most 4294967 us");
        }
        made.time(param, number, time);
    }
    for (param, number) in [("alpha", 5), ("beta", 6)] {
        let hertz = params.number(param);
        let parts = libm::round(hertz * 256.0);
        if parts < 1.0 {
            return refuse(param, hertz, "Linux counts in 256ths of a hertz", "at least 0.00390625");
        }
        made.say(&format!("{param} {}", parts / 256.0));
        made.0.options.put_u32(number, parts as u32);
    }
    made.count("min_qlen_step", 9, params.integer("min_qlen_step"));
    let coupling = params.number("coupling");
    if coupling.fract() != 0.0 {
        return refuse("coupling", coupling, "Linux has whole factors", "a whole number from 1 to 255");
    }
    made.byte(&format!("coupling_factor {coupling}"), 10, coupling as u8);
    let drops = params.choice("overload") == "drop";
    made.byte(if drops { "drop_on_overload" } else { "overflow" }, 11, u8::from(drops));
    let early = params.switch("drop_early");
    made.byte(if early { "drop_enqueue" } else { "drop_dequeue" }, 12, u8::from(early));
    let percent = libm::round(100.0 * params.probability("classic_protection").as_f64()) as u8;
    made.byte(&format!("classic_protection {percent}%"), 13, percent);
    made.byte("l4s_ect", 14, L4S_ECT);
    made.0.order = Order::Class;
    made.packet_size(&of.queue)
}

fn fq_codel(made: &mut Made, of: &Direction) -> Result<(), Refusal> {
    let params = &of.queue.params;
    made.packets(&of.queue, 2)?;
    made.count("flows", 5, params.integer("flows"));
    made.count("quantum", 6, params.size("quantum").as_u64());
    made.time("target", 1, params.time("target"));
    made.time("interval", 3, params.time("interval"));
    made.count("memory_limit", 9, params.size("memory_limit").as_u64());
    made.count("drop_batch", 8, params.integer("drop_batch"));
    if params.time("ce_threshold") < NEVER {
        made.time("ce_threshold", 7, params.time("ce_threshold"));
    }
    made.switch(("ecn", "noecn"), 4, params.switch("ecn"));
    made.packet_size(&of.queue)
}

fn pie(made: &mut Made, of: &Direction) -> Result<(), Refusal> {
    let params = &of.queue.params;
    made.packets(&of.queue, 2)?;
    made.time("target", 1, params.time("target"));
    made.time("tupdate", 3, params.time("tupdate"));
    for (param, number) in [("alpha", 4), ("beta", 5)] {
        let sixteenths = params.number(param) * 16.0;
        if sixteenths.fract() != 0.0 {
            return refuse(param, params.number(param), "Linux counts in sixteenths", "a multiple of 0.0625");
        }
        made.count(param, number, sixteenths as u64);
    }
    made.switch(("ecn", "noecn"), 6, params.switch("ecn"));
    made.switch(("bytemode", ""), 7, params.switch("bytemode"));
    made.switch(("dq_rate_estimator", ""), 8, params.choice("dq_rate_estimator") == "on");
    if params.time("max_burst") != Duration::from_millis(150) {
        return refuse("max_burst", params.time("max_burst"), "Linux has a fixed time", "150 ms");
    }
    if (params.probability("mark_ecnth").as_f64() - 0.1).abs() > 1e-12 {
        let value = params.probability("mark_ecnth").as_f64();
        return refuse("mark_ecnth", value, "Linux has a fixed probability", "0.1");
    }
    if params.probability("active_threshold").as_f64() > 0.0 {
        let value = params.probability("active_threshold").as_f64();
        return refuse("active_threshold", value, "Linux's PIE always works", "0");
    }
    if !params.switch("derandomize") {
        return refuse("derandomize", false, "Linux always spaces drops", "true");
    }
    made.0.order = Order::All;
    made.0.arriving = DropReason::Early;
    made.packet_size(&of.queue)
}

fn red_settings(made: &mut Made, of: &Direction) -> Result<(), Refusal> {
    let params = &of.queue.params;
    if params.choice("profile") != "linux" {
        return refuse(
            "profile",
            params.choice("profile"),
            "Linux counts bytes and has neither gentle nor wait",
            "linux",
        );
    }
    let limit = bytes(&of.queue)?;
    let [min, max] = ["min_threshold", "max_threshold"].map(|name| match params.amount(name) {
        Amount::Bare(n) | Amount::Packets(n) | Amount::Bytes(n) => n as u32,
    });
    let config = red::Config {
        limit,
        min,
        max,
        weight: params.number("weight"),
        max_p: params.probability("max_p").as_f64(),
        packet: params.size("mean_packet"),
        rate: of.rate,
        ecn: params.switch("ecn"),
    };
    made.say(&config.words());
    config.write(&mut made.0.options);
    made.0.order = Order::All;
    Ok(())
}

fn fq(made: &mut Made, of: &Direction) -> Result<(), Refusal> {
    /// Rate of a flow without a limit (`~0U` in `sch_fq.c`), and of one whose limit does not fit.
    const UNLIMITED: u32 = u32::MAX;
    let params = &of.queue.params;
    let flows = params.integer("flows");
    if !flows.is_power_of_two() {
        return refuse("flows", flows, "Linux masks a hash", "a power of two");
    }
    made.packets(&of.queue, 1)?;
    made.count("flow_limit", 2, params.integer("flow_limit"));
    made.count("orphan_mask", 10, flows - 1);
    made.count("quantum", 3, params.size("quantum").as_u64());
    made.count("initial_quantum", 4, params.size("initial_quantum").as_u64());
    made.time("refill_delay", 9, params.time("refill_delay"));
    let per_second = |rate: Rate| u32::try_from(rate.as_bps() / 8).unwrap_or(UNLIMITED);
    if !params.rate("maxrate").is_zero() {
        made.say(&format!("maxrate {}bit", params.rate("maxrate").as_bps()));
        made.0.options.put_u32(7, per_second(params.rate("maxrate")));
    }
    made.say(&format!("low_rate_threshold {}bit", params.rate("low_rate_threshold").as_bps()));
    made.0.options.put_u32(11, per_second(params.rate("low_rate_threshold")));
    if params.time("ce_threshold") < NEVER {
        made.time("ce_threshold", 12, params.time("ce_threshold"));
    }
    Ok(())
}

fn tbf(made: &mut Made, of: &Direction) -> Result<(), Refusal> {
    let params = &of.queue.params;
    let limit = bytes(&of.queue)?;
    let (rate, peak) = (params.rate("rate"), params.rate("peakrate"));
    let (burst, mtu) = (params.size("burst").as_u64() as u32, params.size("mtu").as_u64() as u32);
    made.say(&format!("rate {}bit burst {burst}b limit {limit}b", rate.as_bps()));
    let mut parms = [rate_spec(rate), [0; 12]].concat();
    if !peak.is_zero() {
        made.say(&format!("peakrate {}bit mtu {mtu}b", peak.as_bps()));
        parms[12..].copy_from_slice(&rate_spec(peak));
    }
    // The depths as times at the rates; the attributes with bytes replace them.
    for word in [limit, ticks(rate.time_for(params.size("burst"))), 0] {
        parms.extend_from_slice(&word.to_ne_bytes());
    }
    let options = &mut made.0.options;
    options.put(1, &parms);
    options.put_u64(4, rate.as_bps() / 8);
    options.put_u32(6, burst);
    if !peak.is_zero() {
        options.put_u64(5, peak.as_bps() / 8);
        options.put_u32(7, mtu);
    }
    made.0.order = Order::All;
    Ok(())
}

fn cake(made: &mut Made, of: &Direction) -> Result<(), Refusal> {
    /// Linux's own bound (`cake_init`); ours must not be below it.
    const MOST: u64 = 10_240;
    const BESTEFFORT: u32 = 3;
    const MODES: [&str; 8] =
        ["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"];
    let params = &of.queue.params;
    match of.queue.limit {
        Limit::Packets(n) if n.as_u64() >= MOST => {}
        Limit::Packets(n) => {
            let value = format!("{} packets", n.as_u64());
            return refuse("limit", value, "CAKE is limited by memlimit alone", "\"10240 packets\" or more");
        }
        Limit::Bytes(n) => {
            return refuse("limit", n, "CAKE is limited by memlimit alone", "\"10240 packets\" or more");
        }
    }
    let bandwidth = params.rate("bandwidth");
    let shown =
        if bandwidth.is_zero() { "unlimited".to_owned() } else { format!("bandwidth {}bit", bandwidth.as_bps()) };
    made.say(&shown);
    made.0.options.put_u64(2, bandwidth.as_bps() / 8);
    made.say("besteffort");
    made.0.options.put_u32(3, BESTEFFORT);
    let mode = params.choice("flowmode");
    made.say(mode);
    made.0.options.put_u32(5, MODES.iter().position(|&word| word == mode).unwrap_or(7) as u32);
    made.time("rtt", 7, params.time("rtt"));
    made.0.options.put_u32(8, u32::try_from(params.time("rtt").as_nanos() / 20_000).unwrap_or(u32::MAX).max(1));
    let overhead = params.number("overhead") as i32;
    made.say(&format!("overhead {overhead}"));
    made.0.options.put(6, &overhead.to_ne_bytes());
    made.count("mpu", 14, params.size("mpu").as_u64());
    let cells = ["noatm", "atm", "ptm"].iter().position(|&word| word == params.choice("atm")).unwrap_or(0);
    made.say(params.choice("atm"));
    made.0.options.put_u32(4, cells as u32);
    made.count("memlimit", 10, params.size("memlimit").as_u64());
    Ok(())
}
