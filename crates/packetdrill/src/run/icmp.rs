//! Types and codes of ICMP (RFC 792, RFC 1191, RFC 1812) and ICMPv6 (RFC 4443) by the names that scripts use.

/// A message's type by its name.
struct Kind {
    name: &'static str,
    number: u8,
    codes: &'static [(&'static str, u8)],
}

const V4: &[Kind] = &[
    Kind { name: "echo_reply", number: 0, codes: &[] },
    Kind {
        name: "unreachable",
        number: 3,
        codes: &[
            ("net_unreachable", 0),
            ("host_unreachable", 1),
            ("protocol_unreachable", 2),
            ("port_unreachable", 3),
            ("frag_needed", 4),
            ("source_route_failed", 5),
            ("net_unknown", 6),
            ("host_unknown", 7),
            ("source_host_isolated", 8),
            ("net_prohibited", 9),
            ("host_prohibited", 10),
            ("net_unreachable_for_tos", 11),
            ("host_unreachable_for_tos", 12),
            ("packet_filtered", 13),
            ("precedence_violation", 14),
            ("precedence_cutoff", 15),
        ],
    },
    Kind { name: "source_quench", number: 4, codes: &[] },
    Kind { name: "redirect", number: 5, codes: &[] },
    Kind { name: "echo_request", number: 8, codes: &[] },
    Kind { name: "time_exceeded", number: 11, codes: &[] },
    Kind { name: "parameter_problem", number: 12, codes: &[] },
    Kind { name: "timestamp_request", number: 13, codes: &[] },
    Kind { name: "timestamp_reply", number: 14, codes: &[] },
    Kind { name: "information_request", number: 15, codes: &[] },
    Kind { name: "information_reply", number: 16, codes: &[] },
    Kind { name: "address_mask_request", number: 17, codes: &[] },
    Kind { name: "address_mask_reply", number: 18, codes: &[] },
];

const V6: &[Kind] = &[
    Kind {
        name: "unreachable",
        number: 1,
        codes: &[
            ("net_unreachable", 0),
            ("no_route", 0),
            ("admin_prohibited", 1),
            ("not_neighbour", 2),
            ("address_unreachable", 3),
            ("port_unreachable", 4),
        ],
    },
    Kind { name: "packet_too_big", number: 2, codes: &[] },
    Kind { name: "time_exceeded", number: 3, codes: &[("exceeded_hop_limit", 0), ("exceeded_frag_time", 1)] },
    Kind {
        name: "parameter_problem",
        number: 4,
        codes: &[("header_field", 0), ("unknown_next_header", 1), ("unknown_option", 2)],
    },
    Kind { name: "echo_request", number: 128, codes: &[] },
    Kind { name: "echo_reply", number: 129, codes: &[] },
];

/// Type and code of "fragmentation needed" of ICMP, whose message has an MTU.
pub(super) const FRAG_NEEDED: (u8, u8) = (3, 4);

/// Type and code of "packet too big" of ICMPv6, whose message has an MTU.
pub(super) const TOO_BIG: (u8, u8) = (2, 0);

/// Returns type and code by their names, or what is allowed.
pub(super) fn numbers(is_v6: bool, kind: &str, code: Option<&str>) -> Result<(u8, u8), String> {
    let table = if is_v6 { V6 } else { V4 };
    let version = if is_v6 { "ICMPv6" } else { "ICMP" };
    let numbered = |text: &str, prefix: &str| text.strip_prefix(prefix).and_then(|number| number.parse::<u8>().ok());
    let found = table.iter().find(|row| row.name == kind);
    let number = found.map(|row| row.number).or_else(|| numbered(kind, "type_")).ok_or_else(|| {
        let names: Vec<&str> = table.iter().map(|row| row.name).collect();
        format!("unknown type `{kind}` of {version}; known are {} and type_NUMBER", names.join(", "))
    })?;
    let Some(code) = code else {
        return Ok((number, 0));
    };
    let codes = found.map_or(&[][..], |row| row.codes);
    let by_name = codes.iter().find(|(name, _)| *name == code).map(|(_, number)| *number);
    let code = by_name.or_else(|| numbered(code, "code_")).ok_or_else(|| {
        let names: Vec<&str> = codes.iter().map(|(name, _)| *name).collect();
        format!("unknown code `{code}` of {version} {kind}; known are {} and code_NUMBER", names.join(", "))
    })?;
    Ok((number, code))
}

/// Returns the names of a type and a code; numbers where there is no name.
pub(super) fn names(is_v6: bool, kind: u8, code: u8) -> (String, Option<String>) {
    let row = (if is_v6 { V6 } else { V4 }).iter().find(|row| row.number == kind);
    let name = row.map_or_else(|| format!("type_{kind}"), |row| row.name.to_owned());
    let by_number = row.and_then(|row| row.codes.iter().find(|(_, number)| *number == code));
    let code = match by_number {
        Some((name, _)) => Some((*name).to_owned()),
        None => (code != 0).then(|| format!("code_{code}")),
    };
    (name, code)
}
