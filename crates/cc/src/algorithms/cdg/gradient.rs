//! Gradients of the round-trip time from round to round, and the probability with which they make CDG back off.

/// The smallest and the largest round-trip time of a round, or how they changed, in microseconds (`struct minmax`).
/// Both are zero without a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinMax {
    /// Smallest.
    pub min: i64,
    /// Largest.
    pub max: i64,
}

impl MinMax {
    /// Whether there is no sample.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Takes a sample into both ends.
    pub fn sample(&mut self, rtt: i64) {
        self.min = if self.min == 0 { rtt } else { self.min.min(rtt) };
        self.max = self.max.max(rtt);
    }
}

/// The gradients of the last rounds (`gradients`, `gsum`, `tail`, `gfilled`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gradients {
    ring: Vec<MinMax>,
    sum: MinMax,
    tail: usize,
    filled: bool,
}

/// What one round's gradients show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trend {
    /// Sum of the gradients of the window, extrapolated to its length while it fills; microseconds. Back off where it
    /// is positive.
    pub gradient: i64,
    /// The sums themselves.
    pub sum: MinMax,
}

impl Gradients {
    /// An empty window of `length` rounds, at least one.
    #[must_use]
    pub fn new(length: usize) -> Self {
        Self { ring: vec![MinMax::default(); length.max(1)], sum: MinMax::default(), tail: 0, filled: false }
    }

    /// Forgets all gradients.
    pub fn clear(&mut self) {
        self.ring.fill(MinMax::default());
        (self.sum, self.tail, self.filled) = (MinMax::default(), 0, false);
    }

    /// Adds the change from one round to the next (`tcp_cdg_grad`).
    ///
    /// The sum of the smallest decides if it is positive, otherwise that of the largest (Hayes and Armitage, section
    /// 3). The kernel keeps sums, not means, so that its factor includes the length of the window.
    pub fn add(&mut self, before: MinMax, now: MinMax) -> Trend {
        let change = MinMax { min: now.min - before.min, max: now.max - before.max };
        let length = self.ring.len();
        if let Some(slot) = self.ring.get_mut(self.tail) {
            self.sum.min += change.min - slot.min;
            self.sum.max += change.max - slot.max;
            *slot = change;
        }
        self.tail = (self.tail + 1) % length;
        let mut gradient = if self.sum.min > 0 { self.sum.min } else { self.sum.max };
        if self.tail == 0 {
            self.filled = true;
        } else if !self.filled {
            gradient = gradient * length as i64 / self.tail as i64;
        }
        Trend { gradient, sum: self.sum }
    }
}

/// e^(-x) times 2^32 - 1, for x in millionths: the kernel's `nexp_u32`.
///
/// The lowest eight bits are taken as linear. Each further bit multiplies by the exponential of its value, from a table
/// in 1/65536.
#[must_use]
pub fn negative_exponential(millionths: u32) -> u32 {
    /// e^(-x) * 65536 - 1 for x = 256, 512, 1024 .. millionths.
    const FACTORS: [u16; 16] =
        [65518, 65501, 65468, 65401, 65267, 65001, 64470, 63422, 61378, 57484, 50423, 38795, 22965, 8047, 987, 14];
    let high = millionths >> 8;
    if high > u32::from(u16::MAX) {
        return 0;
    }
    let linear = u32::MAX - (millionths & 0xff) * (u32::MAX / 1_000_000);
    let factors = FACTORS.iter().enumerate().filter(|(bit, _)| high >> bit & 1 == 1);
    factors.fold(linear, |product, (_, &factor)| ((u64::from(product) * (u64::from(factor) + 1)) >> 16) as u32)
}

/// `n / 64`, rounded to the nearest whole number, halves away from zero (`DIV_ROUND_CLOSEST`).
#[must_use]
pub fn in_64ths(n: i64) -> i64 {
    if n > 0 { (n + 32) / 64 } else { (n - 32) / 64 }
}
