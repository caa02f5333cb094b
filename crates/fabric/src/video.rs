//! A video player: its buffer, playback, and the choice of the next segment's rate.
//!
//! The rate follows the buffer alone: BBA-0 of Huang, Johari, McKeown, Trunnell and Watson, "A buffer-based approach to
//! rate adaptation", SIGCOMM 2014, algorithm 1. With reservoir r and cushion c, f(B) is the lowest rate up to r, the
//! highest from r + c on, and linear between them; the rate changes only when f(B) passes the next rate of the ladder.

use narrows_scenario::Video;
use narrows_units::{Bytes, Duration, Instant, Rate};
use std::sync::Arc;

/// A player at run time.
#[derive(Debug)]
pub(crate) struct Player {
    video: Arc<Video>,
    /// Media time in the buffer at `at`.
    level: Duration,
    at: Instant,
    playing: bool,
    /// When playback stood still; `None` while it plays, before it starts and after it ends.
    stalled_at: Option<Instant>,
    /// Media time not yet requested; `None` without end.
    left: Option<Duration>,
    /// Index of the latest segment's rate, and the media time of the segment under way.
    rate: Option<usize>,
    coming: Duration,
    told: Playback,
}

/// What a player did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Playback {
    /// Segments received.
    pub segments: u64,
    /// Segments of another rate than the one before.
    pub switches: u64,
    /// Media time received.
    pub media: Duration,
    /// Bits of media received, by the rates of the ladder.
    pub media_bits: u64,
    /// When playback started.
    pub started: Option<Instant>,
    /// Times that playback stood still, and how long in all.
    pub stalls: u64,
    /// See `stalls`.
    pub stalled: Duration,
    /// Media time played.
    pub played: Duration,
}

impl Player {
    pub(crate) fn new(video: Arc<Video>) -> Self {
        Self {
            left: video.length,
            video,
            level: Duration::ZERO,
            at: Instant::ZERO,
            playing: false,
            stalled_at: None,
            rate: None,
            coming: Duration::ZERO,
            told: Playback::default(),
        }
    }

    /// The size of the next segment, whose rate is chosen now; `None` after the last one.
    pub(crate) fn ask(&mut self, now: Instant) -> Option<Bytes> {
        self.advance(now);
        let media = self.left.map_or(self.video.segment, |left| left.min(self.video.segment));
        if media.is_zero() {
            return None;
        }
        self.left = self.left.map(|left| left - media);
        let next = choose(&self.video, self.rate, self.level);
        self.told.switches += u64::from(self.rate.is_some_and(|rate| rate != next));
        self.rate = Some(next);
        self.coming = media;
        Some(self.bytes(next, media))
    }

    fn bytes(&self, rate: usize, media: Duration) -> Bytes {
        let rate = self.video.ladder.get(rate).copied().unwrap_or(Rate::ZERO);
        rate.bytes_in(media).max(Bytes::new(1))
    }

    /// Takes a segment that is received; returns when the next one is requested, `Instant::NEVER` after the last.
    pub(crate) fn receive(&mut self, now: Instant) -> Instant {
        self.advance(now);
        self.level += self.coming;
        self.told.segments += 1;
        self.told.media += self.coming;
        let rate = self.rate.and_then(|rate| self.video.ladder.get(rate)).map_or(0, |rate| rate.as_bps());
        self.told.media_bits += (u128::from(rate) * u128::from(self.coming.as_nanos()) / 1_000_000_000) as u64;
        let all = self.left.is_some_and(Duration::is_zero);
        let full = self.level + self.video.segment > self.video.buffer;
        if !self.playing && (self.level >= self.video.startup || full || all) {
            self.playing = true;
            self.told.started.get_or_insert(now);
            if let Some(since) = self.stalled_at.take() {
                self.told.stalled += now.since(since);
            }
        }
        if all {
            return Instant::NEVER;
        }
        now + ((self.level + self.video.segment) - self.video.buffer)
    }

    /// Plays until `now`.
    fn advance(&mut self, now: Instant) {
        let elapsed = now.since(self.at);
        if self.playing {
            let played = elapsed.min(self.level);
            self.told.played += played;
            self.level = self.level - played;
            if self.level.is_zero() {
                let ended = self.left.is_some_and(Duration::is_zero) && self.told.media == self.told.played;
                self.playing = false;
                if !ended {
                    self.told.stalls += 1;
                    self.stalled_at = Some(self.at + played);
                }
            }
        }
        self.at = now;
    }

    /// What it did until `end`.
    pub(crate) fn playback(&mut self, end: Instant) -> Playback {
        self.advance(end);
        let mut told = self.told;
        if let Some(since) = self.stalled_at {
            told.stalled += end.since(since);
        }
        told
    }
}

/// The index of the next segment's rate, given that of the one before and the media time in the buffer.
fn choose(video: &Video, before: Option<usize>, level: Duration) -> usize {
    let ladder = &video.ladder;
    let top = ladder.len().saturating_sub(1);
    let Some(before) = before else { return 0 };
    if level <= video.reservoir {
        return 0;
    }
    if level >= video.reservoir + video.cushion {
        return top;
    }
    let [least, most] = [ladder.first(), ladder.last()].map(|rate| rate.map_or(0, |rate| rate.as_bps()));
    let share = (level - video.reservoir).as_nanos();
    let wanted = least + (u128::from(most - least) * u128::from(share) / u128::from(video.cushion.as_nanos())) as u64;
    let bps = |index: usize| ladder.get(index).map_or(0, |rate| rate.as_bps());
    let (up, down) = ((before + 1).min(top), before.saturating_sub(1));
    if wanted >= bps(up) {
        // The highest rate below f(B).
        return (0..=top).rev().find(|index| bps(*index) < wanted).unwrap_or(0);
    }
    if wanted <= bps(down) {
        // The lowest rate above f(B).
        return (0..=top).find(|index| bps(*index) > wanted).unwrap_or(top);
    }
    before
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn at(n: u64) -> Instant {
        Instant::ZERO + secs(n)
    }

    fn video(length: Option<u64>) -> Arc<Video> {
        Arc::new(Video {
            request: Bytes::new(200),
            ladder: [1, 2, 4].map(Rate::mbps).to_vec(),
            segment: secs(4),
            buffer: secs(20),
            reservoir: secs(4),
            cushion: secs(12),
            startup: secs(4),
            length: length.map(secs),
        })
    }

    #[test]
    fn the_rate_follows_the_map_with_its_hysteresis() {
        // f(B) = 1 + (B - 4) / 4 Mb/s between 4 and 16 s.
        let video = video(None);
        for (before, level, next) in [
            (None, 20, 0),
            (Some(2), 4, 0),
            (Some(0), 16, 2),
            // f(7) = 1.75, below the next rate: no change.
            (Some(0), 7, 0),
            // f(9) = 2.25, above 2: the highest rate below it.
            (Some(0), 9, 1),
            // f(15) = 3.75, below 4.
            (Some(1), 15, 1),
            // f(9) = 2.25 is above 2, the rate below 4.
            (Some(2), 9, 2),
            // f(8) = 2 is not above the rate below 4: the lowest rate above f(B).
            (Some(2), 8, 2),
            // f(7) = 1.75: 2 is the lowest above it.
            (Some(2), 7, 1),
        ] {
            assert_eq!(choose(&video, before, secs(level)), next, "{before:?} {level}");
        }
    }

    #[test]
    fn playback_stalls_when_the_buffer_is_empty_and_goes_on_with_a_segment() {
        let mut player = Player::new(video(None));
        assert_eq!(player.ask(at(1)), Some(Bytes::new(500_000)), "4 s at 1 Mb/s");
        // Starts at 3 s with 4 s of media, which last until 7 s.
        assert_eq!(player.receive(at(3)), at(3));
        player.ask(at(3));
        assert_eq!(player.receive(at(9)), at(9));
        let told = player.playback(at(10));
        assert_eq!((told.started, told.stalls, told.stalled), (Some(at(3)), 1, secs(2)));
        assert_eq!((told.played, told.media, told.segments), (secs(5), secs(8), 2));
    }

    #[test]
    fn a_stall_under_way_at_the_end_counts_until_the_end() {
        let mut player = Player::new(video(None));
        player.ask(at(0));
        player.receive(at(1));
        let told = player.playback(at(8));
        assert_eq!((told.stalls, told.stalled, told.played), (1, secs(3), secs(4)));
    }

    #[test]
    fn the_client_waits_until_a_segment_has_room() {
        let mut player = Player::new(video(None));
        for n in 0..4 {
            player.ask(at(0));
            assert_eq!(player.receive(at(0)), at(0), "{n}");
        }
        player.ask(at(0));
        // 20 s are in the buffer, and 4 s more have room in 4 s.
        assert_eq!(player.receive(at(0)), at(4));
    }

    #[test]
    fn the_end_of_a_video_is_no_stall() {
        let mut player = Player::new(video(Some(6)));
        player.ask(at(0));
        assert_eq!(player.receive(at(0)), at(0));
        assert!(player.ask(at(0)).is_some());
        assert_eq!(player.receive(at(1)), Instant::NEVER);
        assert_eq!(player.ask(at(1)), None);
        let told = player.playback(at(60));
        assert_eq!((told.stalls, told.played, told.media), (0, secs(6), secs(6)));
    }
}
