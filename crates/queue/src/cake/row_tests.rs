use super::*;
use narrows_units::Packets;

const LIMIT: Limit = Limit::Packets(Packets::new(1_000));

fn fitted(given: &[(&'static str, Value)]) -> Result<CakeConfig, Broken> {
    let mut params = Params::defaults(PARAMS);
    given.iter().for_each(|&(name, value)| params.set(name, value));
    fit(&mut params, LIMIT).map(|()| CakeConfig::of(&params))
}

#[test]
fn defaults_of_the_row_are_those_of_the_type() {
    assert_eq!(fitted(&[]).unwrap(), CakeConfig::default());
}

#[test]
fn memory_is_four_times_what_the_rate_brings_in_rtt() {
    let rtt = Duration::from_millis(100);
    for (bandwidth, memory) in [
        (Rate::ZERO, 10_240 * 1_514),
        (Rate::mbps(10), 4 << 20),
        (Rate::mbps(200), 10_000_000),
        (Rate::mbps(1_000), 10_240 * 1_514),
    ] {
        assert_eq!(memory_for(bandwidth, rtt), Bytes::new(memory), "{bandwidth}");
        let made = fitted(&[("bandwidth", Value::Rate(bandwidth))]).unwrap();
        assert_eq!(made.memlimit, Bytes::new(memory));
    }
    assert_eq!(fitted(&[("memlimit", Value::Size(Bytes::new(2_000)))]).unwrap().memlimit, Bytes::new(2_000));
}

#[test]
fn values_that_make_no_sense_are_refused() {
    for (name, value) in [
        ("bandwidth", Value::Rate(Rate::bps(511))),
        ("overhead", Value::Number(1.5)),
        ("memlimit", Value::Size(Bytes::new(1_499))),
    ] {
        assert_eq!(fitted(&[(name, value)]).unwrap_err().param, name);
    }
    assert_eq!(fitted(&[("overhead", Value::Number(-4.0))]).unwrap().overhead, -4);
}

#[test]
fn every_word_has_a_meaning_of_its_own() {
    for (name, count) in [("flowmode", 8), ("atm", 3), ("profile", 2)] {
        let param = PARAMS.iter().find(|param| param.name == name).unwrap();
        let Kind::Choice { words, .. } = param.kind else { panic!("{name}") };
        let mut made: Vec<_> = words.iter().map(|word| fitted(&[(name, Value::Choice(word.0))]).unwrap()).collect();
        assert_eq!(made.len(), count);
        while let Some(one) = made.pop() {
            assert!(!made.contains(&one), "{name}");
        }
    }
}
