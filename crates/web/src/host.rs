//! Functions that the page provides in the object `narrowsHost` of its global scope.

use js_sys::Object;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Hears of a run's progress: the share of its simulated time that has passed, in [0, 1].
    #[wasm_bindgen(js_namespace = narrowsHost)]
    pub(crate) fn progress(fraction: f64);

    /// Makes a congestion control of the class with this name; returns the number under which it is called.
    #[wasm_bindgen(js_namespace = narrowsHost, catch)]
    pub(crate) fn make(name: &str, params: &Object) -> Result<u32, JsValue>;

    /// Calls a hook with values in the order of [`VALUES`](crate::own::VALUES). The hook may change the first three.
    /// Returns a field that is then no number, as text: `cwnd to "ten"`.
    #[wasm_bindgen(js_namespace = narrowsHost, catch)]
    pub(crate) fn call(number: u32, hook: &str, values: &mut [f64]) -> Result<Option<String>, JsValue>;

    /// Reports a panic of the engine, which no call survives.
    #[wasm_bindgen(js_namespace = narrowsHost)]
    pub(crate) fn panicked(message: &str);
}
