//! Requests and responses over one connection: a client that has at most one request under way, and its server.

use crate::act::Act;
use crate::page::PageLoad;
use crate::sizes::draw;
use crate::video::{Playback, Player};
use narrows_rng::Stream;
use narrows_scenario::Sizes;
use narrows_units::{Bytes, Duration, Instant};

/// A request with its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchanged {
    /// Bytes of the response.
    pub size: Bytes,
    /// When the request was written.
    pub began: Instant,
    /// When the response was received in full; `None` while it is under way.
    pub finished: Option<Instant>,
}

/// What a client asks for.
#[derive(Debug)]
pub(crate) enum Client {
    /// Responses of drawn sizes, with a think time before each next one.
    Plain { response: Sizes, think: Duration, left: Option<u64>, stream: Stream },
    /// Segments of a video.
    Video(Player),
    /// Objects of a page, over the connection of this number.
    Page(PageLoad, u32),
}

/// The client and the server of a connection.
#[derive(Debug)]
pub struct Exchange {
    client: Client,
    request: Bytes,
    /// Bytes of all requests, and of all responses, up to the one under way.
    requests: Bytes,
    responses: Bytes,
    /// Whether the server has answered the request under way.
    served: bool,
    /// Finished ones, then the one under way.
    log: Vec<Exchanged>,
    finished: u64,
    /// Whether other connections of the page can begin now.
    begins: bool,
}

impl Exchange {
    pub(crate) fn new(client: Client, request: Bytes) -> Self {
        Self {
            client,
            request,
            requests: Bytes::ZERO,
            responses: Bytes::ZERO,
            served: false,
            log: Vec::new(),
            finished: 0,
            begins: false,
        }
    }

    fn under_way(&self) -> bool {
        self.log.len() as u64 > self.finished
    }

    /// Whether its connection is needed now.
    pub(crate) fn ready(&self) -> bool {
        match &self.client {
            Client::Page(page, connection) => !self.log.is_empty() || page.has_work(*connection),
            _ => true,
        }
    }

    /// Sends the next request.
    pub(crate) fn wake(&mut self, now: Instant) -> (Act, Instant) {
        if self.under_way() {
            return (Act::Nothing, Instant::NEVER);
        }
        let size = match &mut self.client {
            Client::Plain { left: Some(0), .. } => None,
            Client::Plain { response, left, stream, .. } => {
                *left = left.map(|left| left - 1);
                Some(draw(response, stream))
            }
            Client::Video(player) => player.ask(now),
            Client::Page(page, _) => page.ask(now),
        };
        let Some(size) = size else { return (Act::Nothing, Instant::NEVER) };
        self.requests += self.request;
        self.responses += size;
        self.served = false;
        if self.log.is_empty() {
            // Many clients ask once.
            self.log.reserve_exact(1);
        }
        self.log.push(Exchanged { size, began: now, finished: None });
        (Act::Write(self.request), Instant::NEVER)
    }

    /// How much the server answers, once it has received `delivered` bytes.
    pub(crate) fn serve(&mut self, delivered: Bytes) -> Option<Bytes> {
        if self.served || !self.under_way() || delivered < self.requests {
            return None;
        }
        self.served = true;
        self.log.last().map(|last| last.size)
    }

    /// When the client sends its next request, once it has received `delivered` bytes and they complete a response;
    /// `Instant::NEVER` after the last one.
    pub(crate) fn receive(&mut self, delivered: Bytes, now: Instant) -> Option<Instant> {
        if !self.under_way() || delivered < self.responses {
            return None;
        }
        self.finished += 1;
        if let Some(last) = self.log.last_mut() {
            last.finished = Some(now);
        }
        Some(match &mut self.client {
            Client::Plain { left: Some(0), .. } => Instant::NEVER,
            Client::Plain { think, .. } => now + *think,
            Client::Video(player) => player.receive(now),
            Client::Page(page, connection) => {
                self.begins = page.receive(now);
                if page.has_work(*connection) { now } else { Instant::NEVER }
            }
        })
    }

    /// Whether other connections of its page can begin now; asked once after each response.
    pub(crate) fn take_begins(&mut self) -> bool {
        std::mem::take(&mut self.begins)
    }

    /// Bytes of a request.
    #[must_use]
    pub const fn request(&self) -> Bytes {
        self.request
    }

    /// All requests in order; the last one may be under way.
    #[must_use]
    pub fn exchanged(&self) -> &[Exchanged] {
        &self.log
    }

    /// Requests answered in full.
    #[must_use]
    pub const fn answered(&self) -> u64 {
        self.finished
    }

    /// What its video player did until `end`; `None` if it has none.
    pub(crate) fn playback(&mut self, end: Instant) -> Option<Playback> {
        if let Client::Video(player) = &mut self.client { Some(player.playback(end)) } else { None }
    }

    /// The page that it loads a part of.
    #[must_use]
    pub const fn page(&self) -> Option<&PageLoad> {
        if let Client::Page(page, _) = &self.client { Some(page) } else { None }
    }
}
