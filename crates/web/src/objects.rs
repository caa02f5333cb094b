//! Plain JavaScript objects and arrays from Rust values.

use js_sys::{Array, Object, Reflect};
use narrows_samples::NONE;
use wasm_bindgen::JsValue;

/// Makes an object of keys and values.
pub(crate) fn object<const N: usize>(entries: [(&str, JsValue); N]) -> JsValue {
    let made = Object::new();
    for (key, value) in entries {
        // Setting a property of a new plain object does not fail.
        let _ = Reflect::set(&made, &key.into(), &value);
    }
    made.into()
}

/// Makes an array of strings.
pub(crate) fn strings<T: AsRef<str>>(values: &[T]) -> JsValue {
    values.iter().map(|value| JsValue::from_str(value.as_ref())).collect::<Array>().into()
}

/// Makes a string, or null.
pub(crate) fn text(value: Option<&str>) -> JsValue {
    value.map_or(JsValue::NULL, JsValue::from_str)
}

/// Converts a value of an integer column to a JavaScript number; "no value" is NaN. Numbers above 2^53 are rounded.
pub(crate) fn number(value: u64) -> f64 {
    if value == NONE { f64::NAN } else { value as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_not_a_number() {
        assert!(number(NONE).is_nan());
        assert!((number(1 << 53) - 9_007_199_254_740_992.0).abs() < 0.5);
    }
}
