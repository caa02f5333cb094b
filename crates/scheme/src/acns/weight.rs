//! The weight of a flow, and the command that follows from it.

use super::{AcnsConfig, Formula};
use narrows_cc::Advice;

/// Returns the weight `W = A(q) / (F(p) + T(a))` of a flow (DCNET 2013, equations 3 and 4; thesis, equations 2 to 4).
///
/// `occupancy` is `A(q)` in [0, 1], `priority` is `p`, `p_max` its maximum, and `age` the flow's age divided by the age
/// of the oldest flow, `a` in [0, 1]. A part with weight factor 0 is left out, whatever its argument ("eliminate the
/// other part by the weight factors"). Edge cases: `a = 0` makes `T` infinite and `W` 0 with [`Formula::Dcnet2013`].
/// With `p = 0`, [`Formula::Thesis2013`] makes `F` infinite and `W` 0. An empty queue always gives 0. With a zero
/// divisor (`F = T = 0`) any waiting packet makes `W` infinite. `p_max = 0` means that no flow has any priority and
/// counts as `p = 0`. The result is never NaN and never negative.
#[must_use]
pub fn weight(config: &AcnsConfig, occupancy: f64, priority: u8, p_max: u8, age: f64) -> f64 {
    if occupancy <= 0.0 {
        return 0.0;
    }
    // IEEE division gives the required infinities, as v_p and v_a are positive where they are divided.
    let part = |share: f64, value: f64| if share > 0.0 { value } else { 0.0 };
    let (v_p, v_a) = (config.priority_weight, config.age_weight);
    let (p, p_max) = (f64::from(priority), f64::from(p_max.max(priority)));
    let (f, t) = match config.formula {
        Formula::Dcnet2013 => (if priority > 0 { v_p * p / p_max } else { 0.0 }, part(v_a, v_a / age)),
        Formula::Thesis2013 => {
            (part(v_p, if priority > 0 { v_p * p_max / p } else { f64::INFINITY }), part(v_a, v_a * age))
        }
    };
    occupancy / (f + t)
}

/// Returns the command for a weight (DCNET 2013, equation 5): normal below th_A1, freeze below th_A2, fallback from
/// there on.
#[inline]
#[must_use]
pub fn command(config: &AcnsConfig, weight: f64) -> Advice {
    if weight < config.freeze_threshold {
        Advice::Normal
    } else if weight < config.fallback_threshold {
        Advice::Freeze
    } else {
        Advice::Fallback
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dcnet() -> AcnsConfig {
        AcnsConfig::default()
    }

    fn thesis() -> AcnsConfig {
        AcnsConfig { formula: Formula::Thesis2013, ..AcnsConfig::default() }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn dcnet2013_oldest_flow_without_priority_weighs_five_times_the_occupancy() {
        let c = dcnet();
        assert!(near(weight(&c, 0.1, 0, 63, 1.0), 0.5));
        assert_eq!(command(&c, weight(&c, 0.1899, 0, 63, 1.0)), Advice::Normal);
        assert_eq!(command(&c, weight(&c, 0.19, 0, 63, 1.0)), Advice::Freeze);
        assert_eq!(command(&c, weight(&c, 0.1999, 0, 63, 1.0)), Advice::Freeze);
        assert_eq!(command(&c, weight(&c, 0.20, 0, 63, 1.0)), Advice::Fallback);
    }

    #[test]
    fn dcnet2013_oldest_flow_of_highest_priority_weighs_the_occupancy() {
        let c = dcnet();
        assert!(near(weight(&c, 0.37, 63, 63, 1.0), 0.37));
        assert_eq!(command(&c, weight(&c, 0.9499, 63, 63, 1.0)), Advice::Normal);
        assert_eq!(command(&c, weight(&c, 0.95, 63, 63, 1.0)), Advice::Freeze);
        assert_eq!(command(&c, weight(&c, 0.9999, 63, 63, 1.0)), Advice::Freeze);
        assert_eq!(command(&c, weight(&c, 1.0, 63, 63, 1.0)), Advice::Fallback);
    }

    #[test]
    fn dcnet2013_half_age_and_highest_priority_is_never_told_anything() {
        let c = dcnet();
        assert!(near(weight(&c, 0.6, 63, 63, 0.5), 0.6 / 1.2));
        let most = weight(&c, 1.0, 63, 63, 0.5);
        assert!(most < 0.8334 && most > 0.8333);
        assert_eq!(command(&c, most), Advice::Normal);
    }

    #[test]
    fn edges_are_as_specified() {
        assert_eq!(weight(&dcnet(), 1.0, 0, 63, 0.0).to_bits(), 0, "a -> 0: T = +inf, W = 0");
        assert!(near(weight(&dcnet(), 0.5, 0, 63, 0.5), 0.5 / 0.4));
        assert_eq!(weight(&thesis(), 1.0, 0, 63, 1.0).to_bits(), 0, "p = 0: F = +inf, W = 0");
        assert!(near(weight(&thesis(), 1.0, 63, 63, 0.0), 1.0 / 0.8));
        assert!(near(weight(&thesis(), 1.0, 63, 63, 1.0), 1.0));
        // All priorities zero with p_max observed.
        assert!(near(weight(&dcnet(), 0.1, 0, 0, 1.0), 0.5));
        assert_eq!(weight(&thesis(), 1.0, 0, 0, 1.0).to_bits(), 0);
    }

    #[test]
    fn a_part_with_factor_zero_is_left_out() {
        let only_priority = AcnsConfig { priority_weight: 1.0, age_weight: 0.0, ..dcnet() };
        assert!(near(weight(&only_priority, 0.5, 63, 63, 0.0), 0.5), "age does not count");
        assert!(weight(&only_priority, 0.5, 0, 63, 1.0).is_infinite());
        assert_eq!(weight(&only_priority, 0.0, 0, 63, 1.0).to_bits(), 0);
        let only_age = AcnsConfig { priority_weight: 0.0, age_weight: 1.0, ..thesis() };
        assert!(near(weight(&only_age, 0.5, 0, 63, 0.5), 1.0), "priority does not count");
    }

    proptest! {
        #[test]
        fn weight_is_never_nan_nor_negative(
            v_p in 0.0f64..=1.0, a in 0.0f64..=1.0, p in 0u8..64, p_max in 0u8..64, age in 0.0f64..=1.0, old: bool,
        ) {
            let formula = if old { Formula::Thesis2013 } else { Formula::Dcnet2013 };
            let c = AcnsConfig { formula, priority_weight: v_p, age_weight: 1.0 - v_p, ..dcnet() };
            let w = weight(&c, a, p, p_max, age);
            prop_assert!(w >= 0.0, "{w}");
            if formula == Formula::Dcnet2013 && c.age_weight > 0.0 {
                // F >= 0 and T >= v_a, because a <= 1.
                prop_assert!(w <= a / c.age_weight * (1.0 + 1e-12));
            }
        }

        #[test]
        fn dcnet2013_gets_harsher_with_occupancy_and_age_and_milder_with_priority(
            a in 0.0f64..=1.0, more in 0.0f64..=1.0, p in 0u8..64, higher in 0u8..64, age in 0.0f64..=1.0,
            older in 0.0f64..=1.0,
        ) {
            let c = dcnet();
            let told = |a: f64, p: u8, age: f64| command(&c, weight(&c, a, p, 63, age));
            prop_assert!(told(a.max(more), p, age) >= told(a, p, age));
            prop_assert!(told(a, p, age.max(older)) >= told(a, p, age));
            prop_assert!(told(a, p.max(higher), age) <= told(a, p, age));
        }

        #[test]
        fn thesis2013_does_the_inverse(a in 0.0f64..=1.0, p in 0u8..64, age in 0.0f64..=1.0, older in 0.0f64..=1.0) {
            let c = thesis();
            prop_assert!(weight(&c, a, p, 63, age.max(older)) <= weight(&c, a, p, 63, age));
            prop_assert!(weight(&c, a, p, 63, age) <= weight(&c, a, 63, 63, age));
        }
    }
}
