//! Applications, which offer data to flows: state machines without clock or connection.

mod control;

use crate::act::Act;
use crate::exchange::{Client, Exchange};
use crate::page::PageLoad;
use crate::video::{Playback, Player};
use control::Control;
use narrows_rng::Stream;
use narrows_scenario::{Distribution, Pauses, Traffic};
use narrows_units::{Bytes, Duration, Instant, Rate, Serialiser};
use std::sync::Arc;

/// The sending application of a flow.
#[derive(Debug)]
pub struct Source {
    traffic: Traffic,
    /// Only for applications with a rate or with on-times and off-times.
    timing: Option<Box<Timing>>,
    /// Only for applications that ask for responses.
    exchange: Option<Box<Exchange>>,
    /// Only for flows of datagrams.
    datagram: Datagram,
    /// Only for applications that steps may pause.
    control: Option<Box<Control>>,
}

/// The sizes of a UDP flow's datagrams; zero for other flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Bytes of payload.
    pub payload: Bytes,
    /// Bytes of IP and UDP header.
    pub overhead: Bytes,
}

/// When an application with a rate, or with on-times and off-times, acts.
#[derive(Debug)]
struct Timing {
    pace: Serialiser,
    stream: Stream,
    /// On/off: whether it is on, and until when.
    on: bool,
    until: Instant,
    /// On/off with a rate: when the next write is due, and the remaining time to it when an off-time began.
    due: Instant,
    owed: Option<Duration>,
    /// Frames: media of the frame that is not sent yet.
    left: Bytes,
}

impl Source {
    /// An application that draws its times and sizes from `stream` and, over UDP, sends `datagram`s. `page` is the page
    /// that it loads a part of, with the number of its connection.
    pub fn new(traffic: Traffic, stream: Stream, datagram: Datagram, page: Option<(PageLoad, u32)>) -> Self {
        let mut timing = None;
        let mut exchange = None;
        match &traffic {
            Traffic::Bulk { .. } => {}
            Traffic::RateLimited { .. }
            | Traffic::Datagrams { .. }
            | Traffic::Frames { .. }
            | Traffic::OnOff { .. } => {
                timing = Some(Box::new(Timing::new(stream)));
            }
            Traffic::RequestResponse { request, response, think, count } => {
                let client = Client::Plain { response: response.clone(), think: *think, left: *count, stream };
                exchange = Some(Box::new(Exchange::new(client, *request)));
            }
            Traffic::Video(video) => {
                let player = Player::new(Arc::clone(video));
                exchange = Some(Box::new(Exchange::new(Client::Video(player), video.request)));
            }
            Traffic::Page(of) => {
                let (page, connection) = page.unwrap_or_else(|| (PageLoad::new(Arc::clone(of)), 0));
                exchange = Some(Box::new(Exchange::new(Client::Page(page, connection), of.request)));
            }
        }
        Self { traffic, timing, exchange, datagram, control: None }
    }

    /// Wakes the application; returns what it does and when it wants to be woken again.
    pub fn wake(&mut self, now: Instant) -> (Act, Instant) {
        let mut offers = false;
        if let Some(control) = &mut self.control {
            if let Some(instead) = control.wake(now) {
                return instead;
            }
            offers = control.take_offer();
        }
        if let Some(exchange) = &mut self.exchange {
            return exchange.wake(now);
        }
        match (&self.traffic, &mut self.timing) {
            (Traffic::Bulk { size: Some(size) }, _) => (Act::WriteAndClose(*size), Instant::NEVER),
            (Traffic::Bulk { size: None }, _) => (Act::Write(Bytes::MAX), Instant::NEVER),
            (Traffic::RateLimited { rate, write }, Some(timing)) => {
                (Act::Write(*write), now + timing.pace.time_for(*write, *rate))
            }
            (Traffic::Datagrams { rate, pauses }, Some(timing)) => timing.datagram(now, *rate, *pauses, self.datagram),
            (Traffic::Frames { rate, frame_rate }, Some(timing)) => {
                timing.frame(now, (*rate, *frame_rate), self.datagram.payload)
            }
            (Traffic::OnOff { rate, on, off, distribution }, Some(timing)) => {
                let (act, next) = timing.on_off(now, *rate, (*on, *off), *distribution);
                if offers && timing.on && act == Act::Nothing { (Act::Write(Bytes::MAX), next) } else { (act, next) }
            }
            // Unreachable: `new` creates timing and exchanges for all kinds that need them.
            (_, _) => (Act::Nothing, Instant::NEVER),
        }
    }

    /// Whether its connection is needed now. Further connections of a page are not before its first object is there.
    pub fn ready(&self) -> bool {
        self.exchange.as_ref().is_none_or(|exchange| exchange.ready())
    }

    /// How many bytes the server answers with, once it has received `delivered` bytes of requests.
    pub fn serve(&mut self, delivered: Bytes) -> Option<Bytes> {
        self.exchange.as_mut()?.serve(delivered)
    }

    /// When the client sends its next request, once it has received `delivered` bytes and they complete a response;
    /// `Instant::NEVER` after the last one.
    pub fn receive(&mut self, delivered: Bytes, now: Instant) -> Option<Instant> {
        self.exchange.as_mut()?.receive(delivered, now)
    }

    /// Whether the page's other connections can begin now; asked once after each response.
    pub fn take_begins(&mut self) -> bool {
        self.exchange.as_mut().is_some_and(|exchange| exchange.take_begins())
    }

    /// Requests answered in full.
    pub fn transactions(&self) -> u64 {
        self.exchange.as_ref().map_or(0, |exchange| exchange.answered())
    }

    /// Its requests and responses, if it asks for any.
    pub fn exchange(&self) -> Option<&Exchange> {
        self.exchange.as_deref()
    }

    /// What its video player did until `end`; `None` if it has none.
    pub fn playback(&mut self, end: Instant) -> Option<Playback> {
        self.exchange.as_mut()?.playback(end)
    }

    /// Whether the server's side carries the data (responses), rather than the client's.
    pub const fn server_sends(&self) -> bool {
        self.traffic.server_sends()
    }
}

impl Timing {
    fn new(stream: Stream) -> Self {
        Self {
            pace: Serialiser::default(),
            stream,
            on: false,
            until: Instant::ZERO,
            due: Instant::ZERO,
            owed: None,
            left: Bytes::ZERO,
        }
    }

    /// Sends the next datagram if it is due. A pause keeps the rest of the interval, so that on-times add up to the
    /// rate whatever their lengths.
    fn datagram(&mut self, now: Instant, rate: Rate, pauses: Option<Pauses>, datagram: Datagram) -> (Act, Instant) {
        let until = if let Some(Pauses { on, off, distribution }) = pauses {
            if now >= self.until {
                self.on = !self.on;
                self.until = now + self.draw(if self.on { on } else { off }, distribution);
                let owed = self.owed.take().unwrap_or_default();
                self.owed = (!self.on).then(|| self.due.since(now));
                self.due = now + owed;
            }
            if !self.on {
                return (Act::Nothing, self.until);
            }
            self.until
        } else {
            Instant::NEVER
        };
        if now < self.due {
            return (Act::Nothing, self.due.min(until));
        }
        let Datagram { payload, overhead } = datagram;
        self.due = now + self.pace.time_for(payload + overhead, rate);
        (Act::Datagram { payload, last: true }, self.due.min(until))
    }

    /// Sends the next datagram of a frame, which follow each other at once; `most` is the payload of one.
    fn frame(&mut self, now: Instant, (rate, frame_rate): (Rate, u32), most: Bytes) -> (Act, Instant) {
        if self.left.is_zero() {
            let frames = u64::from(frame_rate.max(1));
            self.left = Bytes::new((rate.as_bps() / (8 * frames)).max(1));
            // A byte at so many bytes a second: the rest of a nanosecond goes to the next frame.
            self.due = now + self.pace.time_for(Bytes::new(1), Rate::bps(8 * frames));
        }
        let media = self.left.min(most - RTP);
        self.left -= media;
        let last = self.left.is_zero();
        (Act::Datagram { payload: media + RTP, last }, if last { self.due } else { now })
    }

    /// Wakes an on/off application with these mean on-times and off-times.
    fn on_off(
        &mut self,
        now: Instant,
        rate: Option<Rate>,
        (on, off): (Duration, Duration),
        distribution: Distribution,
    ) -> (Act, Instant) {
        if now >= self.until {
            self.on = !self.on;
            self.until = now + self.draw(if self.on { on } else { off }, distribution);
            match (self.on, rate) {
                (true, None) => return (Act::Write(Bytes::MAX), self.until),
                (false, None) => return (Act::Withdraw, self.until),
                (true, Some(rate)) => {
                    let owed = self.owed.take().unwrap_or_else(|| self.pace.time_for(WRITE, rate));
                    self.due = now + owed;
                }
                (false, Some(_)) => {
                    self.owed = Some(self.due.since(now));
                    return (Act::Nothing, self.until);
                }
            }
        }
        let Some(rate) = rate else { return (Act::Nothing, self.until) };
        // A write happens when its last byte is due, so that on-times shorter than one write also add up to the rate.
        let act = if now >= self.due { Act::Write(WRITE) } else { Act::Nothing };
        if now >= self.due {
            self.due = now + self.pace.time_for(WRITE, rate);
        }
        (act, self.due.min(self.until))
    }

    fn draw(&mut self, mean: Duration, distribution: Distribution) -> Duration {
        let secs = match distribution {
            Distribution::Constant => return mean,
            Distribution::Exponential => self.stream.exponential(mean.as_secs_f64()),
            Distribution::Pareto => self.stream.pareto(PARETO_SHAPE, mean.as_secs_f64()),
        };
        Duration::from_secs_f64(secs)
    }
}

/// Bytes of an RTP header, which every datagram of a frame has.
const RTP: Bytes = Bytes::new(narrows_wire::RTP_LEN as u64);

/// Bytes per write of an on/off application with a rate.
const WRITE: Bytes = Bytes::new(1000);

/// Shape of Pareto times, in the range 1 < shape < 2 that makes aggregate traffic self-similar (Willinger et al. 1997).
const PARETO_SHAPE: f64 = 1.5;

#[cfg(test)]
mod tests {
    use super::*;

    fn source(traffic: Traffic) -> Source {
        Source::new(
            traffic,
            Stream::new(1, 0, "flow", "app"),
            Datagram { payload: Bytes::new(972), overhead: Bytes::new(28) },
            None,
        )
    }

    fn at_ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn a_rate_limited_application_keeps_its_rate() {
        let mut app = source(Traffic::RateLimited { rate: Rate::mbps(1), write: Bytes::new(1000) });
        let mut now = Instant::ZERO;
        let mut written = 0;
        while now < at_ms(1000) {
            let (act, next) = app.wake(now);
            assert_eq!(act, Act::Write(Bytes::new(1000)));
            written += 1000;
            now = next;
        }
        assert_eq!(written, 125_000);
    }

    #[test]
    fn udp_counts_headers_into_its_rate() {
        let mut app = source(Traffic::Datagrams { rate: Rate::mbps(8), pauses: None });
        let act = Act::Datagram { payload: Bytes::new(972), last: true };
        assert_eq!(app.wake(Instant::ZERO), (act, at_ms(1)));
    }

    #[test]
    fn a_frame_is_cut_into_datagrams_that_leave_at_once() {
        // 25 frames/s at 500 kb/s: 2,500 bytes each 40 ms, in datagrams of 960 bytes and an RTP header.
        let mut app = source(Traffic::Frames { rate: Rate::kbps(500), frame_rate: 25 });
        for frame in 0..3 {
            let at = at_ms(40 * frame);
            let datagram = |payload, last| Act::Datagram { payload: Bytes::new(payload), last };
            assert_eq!(app.wake(at), (datagram(972, false), at));
            assert_eq!(app.wake(at), (datagram(972, false), at));
            assert_eq!(app.wake(at), (datagram(592, true), at + Duration::from_millis(40)));
        }
    }

    #[test]
    fn a_pause_sends_nothing_and_ends() {
        let ms = Duration::from_millis;
        let pauses = Some(Pauses { on: ms(2), off: ms(10), distribution: Distribution::Constant });
        let mut app = source(Traffic::Datagrams { rate: Rate::mbps(8), pauses });
        let mut sent = Vec::new();
        let mut now = Instant::ZERO;
        while now < at_ms(24) {
            let (act, next) = app.wake(now);
            if act != Act::Nothing {
                sent.push(now.as_nanos() / 1_000_000);
            }
            now = next;
        }
        assert_eq!(sent, [0, 1, 12, 13]);
    }

    #[test]
    fn on_times_shorter_than_an_interval_add_up_to_the_rate() {
        let ms = Duration::from_millis;
        let pauses = Some(Pauses { on: ms(3), off: ms(4), distribution: Distribution::Constant });
        let mut app = source(Traffic::Datagrams { rate: Rate::kbps(800), pauses });
        let (mut now, mut sent) = (Instant::ZERO, 0);
        while now < at_ms(7_000) {
            let (act, next) = app.wake(now);
            sent += u64::from(act != Act::Nothing);
            assert!(next > now, "it is woken later");
            now = next;
        }
        // 3 s of on-times, one datagram for each 10 ms of them.
        assert_eq!(sent, 300);
    }

    #[test]
    fn on_off_alternates() {
        let ms = Duration::from_millis;
        let mut app =
            source(Traffic::OnOff { rate: None, on: ms(10), off: ms(20), distribution: Distribution::Constant });
        assert_eq!(app.wake(at_ms(0)), (Act::Write(Bytes::MAX), at_ms(10)));
        assert_eq!(app.wake(at_ms(10)), (Act::Withdraw, at_ms(30)));
        assert_eq!(app.wake(at_ms(30)), (Act::Write(Bytes::MAX), at_ms(40)));
    }

    #[test]
    fn on_times_shorter_than_a_write_add_up_to_the_rate() {
        let ms = Duration::from_millis;
        let mut app = source(Traffic::OnOff {
            rate: Some(Rate::kbps(100)),
            on: ms(10),
            off: ms(10),
            distribution: Distribution::Constant,
        });
        let (mut now, mut written) = (Instant::ZERO, 0);
        while now <= at_ms(64_000) {
            let (act, next) = app.wake(now);
            if let Act::Write(n) = act {
                written += n.as_u64();
            }
            assert!(next > now);
            now = next;
        }
        assert_eq!(written, 400_000, "half of 64 s at 100 kb/s");
    }

    #[test]
    fn a_response_is_served_once_per_request_and_the_next_request_waits_for_it() {
        let mut app = source(Traffic::RequestResponse {
            request: Bytes::new(100),
            response: narrows_scenario::Sizes::constant(Bytes::new(5000)),
            think: Duration::from_millis(7),
            count: Some(2),
        });
        assert_eq!(app.wake(at_ms(0)).0, Act::Write(Bytes::new(100)));
        assert_eq!(app.serve(Bytes::new(99)), None);
        assert_eq!(app.serve(Bytes::new(100)), Some(Bytes::new(5000)));
        assert_eq!(app.serve(Bytes::new(100)), None);
        assert_eq!(app.receive(Bytes::new(4999), at_ms(3)), None);
        assert_eq!(app.receive(Bytes::new(5000), at_ms(4)), Some(at_ms(11)));
        assert_eq!(app.wake(at_ms(11)).0, Act::Write(Bytes::new(100)));
        assert_eq!(app.receive(Bytes::new(10_000), at_ms(20)), Some(Instant::NEVER));
        assert_eq!(app.transactions(), 2);
    }
}
