//! What a router on the path does to options of IPv4 headers that it does not know.

/// Treatment of IPv4 options by a router that runs no scheme: a middlebox.
///
/// RFC 7126, section 3, describes why routers drop packets with options, and recommends against it. Fonseca et al.
/// ("IP Options are not an option", 2005) measured that most paths of the Internet lose them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpOptions {
    /// Forwards packets with their options, as RFC 1812, section 5.2.4, asks.
    #[default]
    Keep,
    /// Drops packets with options.
    Drop,
    /// Removes all options.
    Strip,
    /// Writes the options of a flow's first packet that has some into all later packets of the flow, as a box that
    /// makes headers of its own from a template does.
    Copy,
}
