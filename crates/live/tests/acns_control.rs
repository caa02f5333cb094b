//! The congestion control of ACNS in C against the Rust decorator, hook by hook, over the same base: windows,
//! thresholds and counters are equal after every event.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, clippy::unwrap_used, clippy::print_stderr, missing_docs, reason = "tests")]

mod compiled;

use compiled::{Dice, Native};
use narrows_cc::{Ack, Advice, Congestion, CongestionControl, Path, Phase, Window};
use narrows_scheme::acns::{Acns, AcnsConfig};
use narrows_units::{Bytes, Duration, Instant};

const SMSS: u64 = 1000;
const INFINITE: u64 = 0x7fff_ffff;

/// The base of bpf/native/acns.c: it grows by a segment per segment acknowledged if cwnd is the limit, and halves after
/// congestion.
#[derive(Debug, Default)]
struct Base {
    told: u64,
    /// How often the window was set from outside.
    set: u64,
}

impl CongestionControl for Base {
    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if path.cwnd_limited {
            win.cwnd += ack.acked;
        }
    }

    fn on_congestion(&mut self, event: &Congestion, _path: &Path, win: &mut Window) {
        self.told += 1;
        let half = Bytes::new((win.cwnd.as_u64() / SMSS / 2).max(2) * SMSS);
        win.ssthresh = Some(half);
        win.cwnd = if matches!(event, Congestion::Timeout { .. }) { Bytes::new(SMSS) } else { half };
    }

    fn on_window_set(&mut self, _path: &Path, _win: &Window) {
        self.set += 1;
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("told", self.told as f64);
        visit("set", self.set as f64);
    }
}

/// A sender in Rust and in C.
struct Both {
    rust: Acns,
    path: Path,
    win: Window,
    /// The window before the last loss.
    before: Window,
    c: Native,
    set: u64,
}

impl Both {
    fn new(c: Native, config: &AcnsConfig, cubic: bool) -> Self {
        c.reset();
        c.set("obey", u64::from(config.obey));
        c.set("trend_count", u64::from(config.trend_count));
        c.set("loss_fallback_threshold", (config.loss_fallback_threshold * 1e6).round() as u64);
        c.set("loss_decrease_threshold", (config.loss_decrease_threshold * 1e6).round() as u64);
        let metric = |i: u32| (libm::exp(-f64::from(i) / config.trend_sigma) * f64::from(1 << 30)).round() as u32;
        let metrics: Vec<u32> = (0..config.trend_count).map(metric).collect();
        let set: extern "C" fn(*const u32, u32) = c.function("narrows_metrics");
        set(metrics.as_ptr(), config.trend_count);
        let start: extern "C" fn(libc::c_int, u32) = c.function("control_start");
        start(libc::c_int::from(cubic), 10);
        let path = Path {
            now: Instant::ZERO,
            smss: Bytes::new(SMSS),
            initial_window: Bytes::new(10 * SMSS),
            srtt: Some(Duration::from_millis(100)),
            min_rtt: Some(Duration::from_millis(100)),
            rto: Duration::from_secs(1),
            flightsize: Bytes::new(10 * SMSS),
            inflight: Bytes::new(10 * SMSS),
            snd_una: 0,
            snd_nxt: 10 * SMSS,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            cwnd_limited: true,
            pacing_rate: None,
            departure: Instant::ZERO,
            phase: Phase::Open,
            ecn: narrows_cc::EcnFeedback::Nothing,
            slow_start_at_equality: false,
        };
        let win = Window { cwnd: Bytes::new(10 * SMSS), ssthresh: None, pacing_rate: None };
        Self { rust: Acns::new(Box::new(Base::default()), config), path, win, before: win, c, set: 0 }
    }

    fn state(&self, name: &str) -> u64 {
        let mut found = u64::MAX;
        self.rust.state(&mut |key, value| {
            if key == name {
                found = value as u64;
            }
        });
        found
    }

    fn ack(&mut self, advice: Option<Advice>, acked: u64, limited: bool) {
        self.path.snd_una = (self.path.snd_una + acked * SMSS).min(self.path.snd_nxt);
        self.path.snd_nxt = self.path.snd_nxt.max(self.path.snd_una + self.win.cwnd.as_u64());
        self.path.cwnd_limited = limited;
        if let Some(advice) = advice {
            self.rust.on_advice(advice, &self.path, &mut self.win);
        }
        if !matches!(self.path.phase, Phase::Cwr | Phase::Recovery) {
            let acked = Bytes::new(acked * SMSS);
            self.rust.on_ack(&Ack { acked, delivered: acked, ..Ack::default() }, &self.path, &mut self.win);
        }
        let ack: extern "C" fn(u32, u32, u32, u32, libc::c_int) = self.c.function("control_ack");
        let (una, nxt) = (self.path.snd_una as u32, self.path.snd_nxt as u32);
        ack(advice.map_or(0, |advice| advice as u32), una, nxt, acked as u32, libc::c_int::from(limited));
    }

    fn loss(&mut self, in_flight: u32) {
        self.before = self.win;
        self.rust.on_congestion(&Congestion::Loss { lost: Bytes::new(SMSS) }, &self.path, &mut self.win);
        self.path.phase = Phase::Recovery;
        let loss: extern "C" fn(u32) = self.c.function("control_loss");
        loss(in_flight);
    }

    fn call(&self, name: &str) {
        let call: extern "C" fn() = self.c.function(name);
        call();
    }

    fn echo(&mut self) {
        self.rust.on_congestion(&Congestion::Ecn { marked: Bytes::new(SMSS) }, &self.path, &mut self.win);
        self.path.phase = Phase::Cwr;
        self.call("control_echo");
    }

    fn recovered(&mut self) {
        self.path.phase = Phase::Open;
        self.rust.on_recovered(&self.path, &mut self.win);
        self.call("control_recovered");
    }

    fn undo(&mut self) {
        self.path.phase = Phase::Open;
        self.win = self.before;
        self.rust.on_undo(&self.path, &mut self.win);
        self.call("control_undo");
    }

    fn timeout(&mut self, undo: u32) {
        self.rust.on_congestion(&Congestion::Timeout { repeated: false }, &self.path, &mut self.win);
        self.path.phase = Phase::Loss;
        let timeout: extern "C" fn(u32) = self.c.function("control_timeout");
        timeout(undo);
    }

    fn window(&self) -> [u64; 4] {
        let read: extern "C" fn(*mut u64) = self.c.function("control_window");
        let mut window = [0; 4];
        read(window.as_mut_ptr());
        window
    }

    fn counters(&self) -> [u64; 15] {
        let read: extern "C" fn(*mut u64) = self.c.function("control_counters");
        let mut counters = [0; 15];
        read(counters.as_mut_ptr());
        counters
    }

    /// Compares everything; in recovery the kernel's window is set by the recovery.
    fn check(&mut self, cubic: bool, what: &str) {
        let [cwnd, ssthresh, anew, told] = self.window();
        if !matches!(self.path.phase, Phase::Cwr | Phase::Recovery) {
            let expected = (self.win.cwnd.as_u64() / SMSS, self.win.ssthresh.map_or(INFINITE, |s| s.as_u64() / SMSS));
            assert_eq!((cwnd, ssthresh), expected, "{what}");
        }
        let counters = self.counters();
        let names = ["acns_losses_frozen", "acns_losses_fallen_back", "acns_losses_decreased", "acns_command"];
        for (name, found) in names.iter().zip(&counters[10..14]) {
            assert_eq!(*found, self.state(name), "{name}, {what}");
        }
        assert_eq!(counters[9], self.state("acns_fallbacks"), "{what}");
        assert_eq!(told, self.state("told"), "{what}");
        let set = self.state("set");
        assert_eq!(cubic && set > self.set, anew == 1 && cubic, "the curve begins anew: {what}");
        self.set = set;
    }
}

fn advice(dice: &mut Dice, harsh: u64) -> Option<Advice> {
    match dice.below(12) {
        0 => Some(Advice::Normal),
        1 if dice.below(8) < harsh => Some(Advice::Freeze),
        2 if dice.below(8) < harsh => Some(Advice::Fallback),
        _ => None,
    }
}

/// Runs a connection of acknowledgments, losses, timeouts and commands; returns how often each verdict occurred.
fn live(both: &mut Both, cubic: bool, seed: u64) -> [u64; 3] {
    let mut dice = Dice(seed);
    for step in 0..20_000u32 {
        // There are periods without loss, in which the history fills, and periods with more or fewer commands.
        let (calm, harsh) = (step % 2000 > 1200, u64::from(step / 500 % 9));
        let event = if calm { 20 } else { dice.below(60) };
        let what = format!("seed {seed}, step {step}, event {event}, {:?}", both.path.phase);
        match (both.path.phase, event) {
            (Phase::Open, 0 | 1) => both.loss(1 + dice.below(both.win.cwnd.as_u64() / SMSS) as u32),
            (Phase::Open, 2) => both.echo(),
            (Phase::Open, 3) => both.timeout(dice.below(2) as u32),
            (Phase::Recovery | Phase::Cwr, 0..=20) => both.recovered(),
            (Phase::Recovery, 21 | 22) => both.undo(),
            (Phase::Loss, 0..=20) => {
                both.path.phase = Phase::Open;
                both.call("control_open");
            }
            _ => {
                let said = advice(&mut dice, harsh);
                both.ack(said, 1 + dice.below(3), !dice.once_in(4));
            }
        }
        both.check(cubic, &what);
    }
    let counters = both.counters();
    assert!(!both.rust.commands().contains(&0));
    [counters[10], counters[11], counters[12]]
}

#[test]
fn windows_are_those_of_the_rust_decorator_after_every_event() {
    let d = AcnsConfig::default();
    let configs = [
        d,
        AcnsConfig { trend_count: 1, ..d },
        AcnsConfig { trend_count: 63, trend_sigma: 20.0, ..d },
        AcnsConfig { trend_sigma: 0.001, ..d },
        AcnsConfig { loss_fallback_threshold: 1.84, loss_decrease_threshold: 2.15, ..d },
        AcnsConfig { obey: false, ..d },
    ];
    let Some(mut c) = Native::build("acns", "acns-control") else { return };
    let mut verdicts = [0; 3];
    for (seed, config) in configs.iter().enumerate() {
        for cubic in [false, true] {
            let mut both = Both::new(c, config, cubic);
            for (sum, n) in verdicts.iter_mut().zip(live(&mut both, cubic, seed as u64)) {
                *sum += n;
            }
            c = both.c;
        }
    }
    assert!(verdicts.iter().all(|&n| n > 100), "every verdict: {verdicts:?}");
}

/// If a timeout follows a loss that was found before, the kernel does not ask the base a second time. A base that was
/// not notified of that loss is then notified, with the window at which it happened.
#[test]
fn a_timeout_in_recovery_makes_up_for_a_reduction_that_was_left_out() {
    let Some(c) = Native::build("acns", "acns-late-timeout") else { return };
    let mut both = Both::new(c, &AcnsConfig::default(), false);
    both.ack(Some(Advice::Normal), 3, true);
    both.ack(Some(Advice::Normal), 3, true);
    assert_eq!(both.window()[0], 16);
    both.loss(4);
    assert_eq!((both.window()[1], both.counters()[10]), (16, 1), "taken for an error of the channel");
    both.timeout(1);
    assert_eq!(both.window()[..2], [1, 8]);
    assert_eq!((both.counters()[10], both.counters()[13]), (1, 0), "the verdict stands, and no command rules");
    // A base that was notified is not notified again.
    let mut both = Both::new(both.c, &AcnsConfig::default(), false);
    both.loss(4);
    both.timeout(1);
    assert_eq!((both.window()[1], both.window()[3]), (5, 1));
}

#[test]
fn advice_that_comes_faster_than_the_ring_holds_is_counted_as_missed() {
    let Some(c) = Native::build("acns", "acns-ring") else { return };
    let both = Both::new(c, &AcnsConfig::default(), false);
    let ack: extern "C" fn(u32, u32, u32, u32, libc::c_int) = both.c.function("control_ack");
    let advise: extern "C" fn(u32) = both.c.function("control_advise");
    for _ in 0..40 {
        advise(Advice::Freeze as u32);
    }
    ack(Advice::Normal as u32, 1000, 11_000, 1, 1);
    let counters = both.counters();
    assert_eq!((counters[5], counters[13], counters[14]), (41, Advice::Normal as u64, 41 - 32));
}
