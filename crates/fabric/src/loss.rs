//! Random losses on a link, independent of its queue.

use narrows_rng::Stream;
use narrows_scenario::Loss;

/// Decides packet by packet whether a link corrupts it.
#[derive(Debug)]
pub struct LossModel {
    kind: Loss,
    bad: bool,
    stream: Stream,
}

impl LossModel {
    /// A model that draws from `stream`; Gilbert-Elliott starts in its good state.
    pub fn new(kind: Loss, stream: Stream) -> Self {
        Self { kind, bad: false, stream }
    }

    /// Loses packets as this says from now on; Gilbert-Elliott starts in its good state.
    pub fn set(&mut self, kind: Loss) {
        (self.kind, self.bad) = (kind, false);
    }

    /// Whether the next packet is lost.
    ///
    /// Uniform: each packet with the same probability. Gilbert-Elliott (Gilbert 1960, Elliott 1963): the packet is lost
    /// with the PER of the current state, then the state changes with its transition probability.
    #[inline]
    pub fn strikes(&mut self) -> bool {
        match self.kind {
            Loss::None => false,
            Loss::Uniform(p) => self.stream.chance(p.as_f64()),
            Loss::GilbertElliott { to_bad, to_good, per_good, per_bad } => {
                let (per, leave) = if self.bad { (per_bad, to_good) } else { (per_good, to_bad) };
                let lost = self.stream.chance(per.as_f64());
                self.bad ^= self.stream.chance(leave.as_f64());
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_units::Probability;

    fn share(kind: Loss, n: u32) -> f64 {
        let mut model = LossModel::new(kind, Stream::new(1, 0, "link", "loss"));
        f64::from((0..n).map(|_| u32::from(model.strikes())).sum::<u32>()) / f64::from(n)
    }

    #[test]
    fn uniform_loss_has_its_rate() {
        let p = Probability::new(0.03).unwrap();
        assert!((share(Loss::Uniform(p), 200_000) - 0.03).abs() < 0.002);
        assert!(share(Loss::None, 1000).abs() < f64::EPSILON);
    }

    #[test]
    fn gilbert_elliott_has_its_stationary_rate() {
        let p = |x| Probability::new(x).unwrap();
        // Stationary share of the bad state is 0.01 / (0.01 + 0.09) = 0.1, so PER = 0.9 * 0.001 + 0.1 * 0.5.
        let kind = Loss::GilbertElliott { to_bad: p(0.01), to_good: p(0.09), per_good: p(0.001), per_bad: p(0.5) };
        assert!((share(kind, 1_000_000) - 0.0509).abs() < 0.002);
    }
}
