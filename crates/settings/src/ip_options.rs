//! What a router on the path does to options of IPv4 headers that it does not know.

/// Treatment of IPv4 options by a router that runs no scheme: a middlebox.
///
/// RFC 7126 describes what dropping packets with options costs, and what to filter instead. Fonseca et al. ("IP Options
/// are not an option", 2005) measured where paths of the Internet lose them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpOptions {
    /// Forwards packets with their options, as RFC 1812 asks of options that a router does not know (section 4.2.2.1).
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
