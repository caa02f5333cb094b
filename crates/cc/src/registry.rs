//! The registry: one row per algorithm feeds CLI lists, documentation, scenario validation and conformance tests.

use crate::algorithms::{
    agile_sd, bbr, bbr3, bic, c2tcp, cdg, compound, copa, cubic, dctcp, fack, highspeed, htcp, hybla, illinois, ledbat,
    ledbat_pp, lp, newreno, none, nv, prague, reno, sack, scalable, swift, tahoe, vegas, veno, vivace, westwood, yeah,
};
use crate::{CongestionControl, Params, Row};

/// All algorithms, in display order.
#[must_use]
pub fn registry() -> &'static [Row] {
    const ROWS: &[Row] = &[
        none::ROW,
        reno::ROW,
        newreno::ROW,
        sack::ROW,
        fack::ROW,
        tahoe::ROW,
        cubic::ROW,
        dctcp::ROW,
        prague::ROW,
        bic::ROW,
        agile_sd::ROW,
        highspeed::ROW,
        scalable::ROW,
        illinois::ROW,
        bbr::ROW,
        bbr3::ROW,
        compound::ROW,
        htcp::ROW,
        hybla::ROW,
        westwood::ROW,
        vegas::ROW,
        veno::ROW,
        copa::ROW,
        cdg::ROW,
        nv::ROW,
        swift::ROW,
        lp::ROW,
        ledbat::ROW,
        ledbat_pp::ROW,
        yeah::ROW,
        vivace::ROW,
        c2tcp::ROW,
    ];
    ROWS
}

/// The row of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row> {
    registry().iter().find(|row| row.name == name)
}

/// Builds the algorithm of this name, or `None` where there is none.
#[must_use]
pub fn build(name: &str, params: &Params) -> Option<Box<dyn CongestionControl>> {
    find(name).map(|row| (row.build)(params))
}
