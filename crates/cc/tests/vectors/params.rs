//! Parameters: which values are refused, and the messages.

use narrows_cc::{ParamError, ParamKind, ParamValue, Params, build, find, registry};

fn word(text: &str) -> ParamValue {
    ParamValue::Choice(text.to_owned())
}

#[test]
fn registry_names_are_unique_and_found() {
    for (i, row) in registry().iter().enumerate() {
        assert_eq!(find(row.name).unwrap().title, row.title);
        assert!(registry()[..i].iter().all(|r| r.name != row.name), "{}", row.name);
        assert!(build(row.name, &Params::default()).is_some());
        assert!(!row.sources.is_empty());
    }
    assert!(find("renoo").is_none() && build("", &Params::default()).is_none());
}

#[test]
fn defaults_are_allowed_values() {
    for row in registry() {
        for param in row.params {
            let default = match param.kind {
                ParamKind::Number { default, .. } => ParamValue::Number(default),
                ParamKind::Choice { default, .. } => word(default),
                ParamKind::Switch { default } => ParamValue::Switch(default),
            };
            assert_eq!(row.check(param.name, &default), Ok(()), "{}.{}", row.name, param.name);
            assert!(param.doc.ends_with('.'), "{}.{}", row.name, param.name);
        }
    }
}

#[test]
fn errors_name_value_and_what_is_allowed() {
    let row = find("cubic").unwrap();
    let say = |name: &str, value: ParamValue| row.check(name, &value).unwrap_err().to_string();
    assert_eq!(say("beta", ParamValue::Number(1.5)), "beta cannot be 1.5: allowed is a number from 0 to 0.95");
    assert_eq!(say("beta", word("half")), "beta cannot be \"half\": allowed is a number from 0 to 0.95");
    assert_eq!(say("c", ParamValue::Number(0.0)), "c cannot be 0: allowed is a number from 0.001 to 100 segments/s^3");
    assert_eq!(say("profile", word("bsd")), "profile cannot be \"bsd\": allowed is one of: rfc9438, linux, ns2");
    assert_eq!(say("abe", ParamValue::Number(1.0)), "abe cannot be 1: allowed is true or false");
    assert!(say("gamma", word("x")).starts_with("cubic has no parameter \"gamma\": allowed are profile, c, beta"));
    let none = find("none").unwrap();
    let error = none.check("beta", &ParamValue::Number(0.5)).unwrap_err();
    assert_eq!(error.to_string(), "none has no parameter \"beta\": it takes none");
}

#[test]
fn nan_is_no_number() {
    let row = find("cubic").unwrap();
    assert!(matches!(row.check("beta", &ParamValue::Number(f64::NAN)), Err(ParamError::Value { .. })));
    let given = Params::new(vec![("c".to_owned(), ParamValue::Number(f64::NAN))]);
    assert_eq!(given.number(row, "c"), 0.4);
}

#[test]
fn the_later_of_two_values_wins() {
    let row = find("cubic").unwrap();
    let beta = |v| ("beta".to_owned(), ParamValue::Number(v));
    assert_eq!(Params::new(vec![beta(0.5), beta(0.8)]).number(row, "beta"), 0.8);
}

#[test]
fn given_values_can_be_listed_in_order() {
    let values = [("b", ParamValue::Number(2.0)), ("a", ParamValue::Switch(true)), ("b", ParamValue::Number(3.0))];
    let params = Params::new(values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect());
    let listed: Vec<_> = params.given().map(|(name, value)| (name, value.clone())).collect();
    assert_eq!(listed, values);
}
