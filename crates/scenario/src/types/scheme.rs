//! The scheme of a scenario after defaults are merged.

use narrows_settings::scheme::Values;

/// A network-assisted scheme in the routers, and its parameters, which the end points share.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// Its row in the catalogue.
    pub row: &'static narrows_settings::scheme::Scheme,
    /// Indices of the routers that run it; default all.
    pub routers: Vec<usize>,
    /// All parameters of its row.
    pub values: Values,
}
