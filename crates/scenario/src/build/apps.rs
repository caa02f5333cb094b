//! Applications that need more than their fields: datagrams, pauses, calls and videos.

use super::Build;
use super::flows::{Names, Row, or_none};
use crate::check::Path;
use crate::quantity::show_time;
use crate::schema::NAME_LENGTH;
use crate::types::{Flow, IpVersion, Pauses, Traffic, Transport, Udp, Video};
use narrows_units::{Bytes, Duration, Rate};

/// Bytes of the IPv4 and IPv6 header with that of UDP.
const HEADERS: [u64; 2] = [28, 48];

/// Bytes of an RTP header (RFC 3550).
const RTP: u64 = 12;

/// Characters that the names of a call's two flows add.
const ENDING: usize = "-down".len();

impl Build<'_> {
    /// Returns the payload of a UDP flow's datagrams. Frames need room for more than an RTP header.
    pub(super) fn payload(&mut self, row: &Row<'_>, kind: &str) -> Option<Bytes> {
        let usual = if kind == "udp" { 1000 } else { 1200 };
        let payload =
            if row.record.given("payload").is_some() { row.record.get("payload")? } else { Bytes::new(usual) };
        if kind != "udp" && payload.as_u64() <= RTP {
            let reason = "leaves no room beside the RTP header of 12 bytes";
            self.report.add(
                row.place("payload"),
                Path::Key(&row.path, "payload"),
                row.shown("payload"),
                reason,
                "at least 13 B",
            );
            return None;
        }
        Some(payload)
    }

    /// Returns the on-times and off-times of a flow; `None` inside if it has no pauses.
    pub(super) fn pauses(&mut self, row: &Row<'_>, needed: bool) -> Option<Option<Pauses>> {
        let record = row.record;
        let (on, off) = (or_none::<Duration>(record, "on")?, or_none::<Duration>(record, "off")?);
        match (on, off) {
            (Some(on), Some(off)) => Some(Some(Pauses { on, off, distribution: record.get("distribution")? })),
            (None, None) if !needed => Some(None),
            _ => {
                if needed
                    && [("on", on), ("off", off)]
                        .iter()
                        .any(|(key, time)| time.is_none() && record.given(key).is_none())
                {
                    // The schema has named it as missing.
                    return None;
                }
                let key = if on.is_some() { "off" } else { "on" };
                let allowed = if needed { "a time" } else { "both `on` and `off`, or neither" };
                let reason = if needed { "has no meaning for kind = \"on_off\"" } else { "is given without the other" };
                let at = if record.given(key).is_some() {
                    key
                } else if key == "on" {
                    "off"
                } else {
                    "on"
                };
                self.report.add(row.place(at), Path::Key(&row.path, at), row.shown(at), reason, allowed);
                None
            }
        }
    }

    /// Returns the two flows of a call, given the one with frames under the call's own name and ends.
    pub(super) fn call(&mut self, row: &Row<'_>, flow: Flow, names: &mut Names) -> Option<[Flow; 2]> {
        let [up, down] = ["up", "down"].map(|way| format!("{}-{way}", flow.name));
        if flow.name.len() + ENDING > NAME_LENGTH {
            let allowed = format!("at most {} characters: -up and -down follow", NAME_LENGTH - ENDING);
            let at = Path::Key(&row.path, "name");
            self.report.add(row.place("name"), at, row.shown("name"), "is too long for the name of a call", allowed);
            return None;
        }
        for name in [&up, &down] {
            if !names.insert(name.clone()) {
                let at = Path::Key(&row.path, "name");
                self.report.add(row.place("name"), at, format!("{name:?}"), "is the name of two flows", "unique names");
                return None;
            }
        }
        let (audio, ptime): (Rate, Duration) = (row.record.get("audio")?, row.record.get("ptime")?);
        let payload = Bytes::new(audio.bytes_in(ptime).as_u64().max(1) + RTP);
        let headers = HEADERS[usize::from(self.ip == IpVersion::V6)];
        let rate = Rate::of(Bytes::new(payload.as_u64() + headers), ptime);
        let voice = Flow {
            name: up,
            traffic: Traffic::Datagrams { rate, pauses: None },
            transport: Transport::Udp(Udp { payload }),
            ..flow.clone()
        };
        let frames = Flow { name: down, from: flow.to, to: flow.from, ..flow };
        Some([voice, frames])
    }

    pub(super) fn video(&mut self, row: &Row<'_>) -> Option<Video> {
        let record = row.record;
        let segment: Duration = record.get("segment")?;
        let startup = if record.given("startup").is_some() { record.get("startup")? } else { segment };
        let video = Video {
            request: record.get("request")?,
            ladder: record.get("ladder")?,
            segment,
            buffer: record.get("buffer")?,
            reservoir: record.get("reservoir")?,
            cushion: record.get("cushion")?,
            startup,
            length: or_none(record, "length")?,
        };
        let mut complain = |key: &str, reason: &str, allowed: String| {
            self.report.add(row.place(key), Path::Key(&row.path, key), row.shown(key), reason, allowed);
        };
        let top = video.reservoir + video.cushion;
        if video.ladder.windows(2).any(|pair| pair[0] >= pair[1]) {
            complain("ladder", "does not rise", "each rate above the one before it".to_owned());
        } else if video.buffer < segment {
            complain("buffer", "holds no segment", format!("at least {}", show_time(segment)));
        } else if startup > video.buffer {
            complain("startup", "is more than the buffer holds", format!("at most {}", show_time(video.buffer)));
        } else if top > video.buffer {
            let reason = format!("with the reservoir is {}, more than the buffer holds", show_time(top));
            complain("cushion", &reason, format!("a sum of at most {}", show_time(video.buffer)));
        } else {
            return Some(video);
        }
        None
    }
}
