-- Shows in Wireshark and tshark, in words, what network-assisted congestion control writes into packets:
--
--   NGWA (New General Window Advertising): the IPv4 option with the bytes that the path's tightest queue takes.
--   ACNS (Advanced Congestion Notification System): the messages I1 to I7 in the IP header, T1 to T6 in the TCP header.
--
--   tshark -X lua_script:narrows.lua -r FILE -Y 'ngwa.window < 20000 || acns.command == "freeze"'
--
-- README.md beside this file and docs/wireshark.md tell how to install it, and list fields and preferences.
-- It runs on Wireshark 3.6 to 4.4, hence on Lua 5.2 and 5.4: no bit operators, no bit32, and no integer formats of numbers
-- that take 32 bits.

local get = {}
for key, name in pairs({
    ipv4 = "ip", ipv6 = "ipv6", hop_by_hop = "ipv6.hopopts", icmp = "icmp", icmpv6 = "icmpv6", tcp = "tcp",
    stream = "tcp.stream", len = "tcp.len", window = "tcp.window_size", shift = "tcp.window_size_scalefactor",
}) do
    get[key] = Field.new(name)
end

-- Without a protocol tree there are no fields, and a file may be loaded without one: a listener with a filter calls for one.
Listener.new("frame", "ip or ipv6")

-- What one protocol knows of the frames. State follows the order of the capture, but frames are dissected again, in any order, when
-- they are shown or filtered: so each is read once, and what was known then is kept by its number, its Info text too (for
-- rows that are drawn without a tree).
local function memory()
    return { last = 0, known = {}, info = {} }
end

-- Whether the frame is seen for the first time; it counts as seen from now on.
local function is_new(seen, number)
    local new = number > seen.last
    seen.last = new and number or seen.last
    return new
end

-- Whether there is a tree, for an IP packet; else the Info column gets what it got before.
local function has_fields(pinfo, seen, prefs)
    local fields = get.ipv4() or get.ipv6()
    if not fields and prefs.info and seen.info[pinfo.number] then
        pinfo.cols.info:append(seen.info[pinfo.number])
    end
    return fields
end

local function add_info(pinfo, seen, prefs, text)
    seen.info[pinfo.number] = text ~= "" and text or nil
    if prefs.info then
        pinfo.cols.info:append(text)
    end
end

-- A header's bytes as numbers, from 1: those that were captured, if a snap length cut the packet.
local function octets(field)
    local ok, bytes = pcall(function() return field.range:bytes() end)
    local values = {}
    for i = 1, ok and bytes:len() or 0 do
        values[i] = bytes:get_index(i - 1)
    end
    return values
end

-- Bits of tcp.flags; NS is RFC 3540's, which AccECN calls AE, and CMT is the one that ACNS adds.
local FIN, SYN, RST, ACK, ECE, CWR, NS, CMT = 0x001, 0x002, 0x004, 0x010, 0x040, 0x080, 0x100, 0x200

-- Whether the bit of that weight is set.
local function bit(value, weight)
    return math.floor(value / weight) % 2 == 1
end

-- The TCP segments of the frame: `ip` and `tcp`, the fields of the headers; `v4`, whether IPv4; `head`, the IP header's bytes;
-- `flags`, as tcp.flags; `stream`, `len`, `window` (bytes; nil while its scale is not known); `from` and `to`, the ends' names.
-- None for an ICMP error: the segment that it quotes is not the frame's.
local function segments()
    local found = {}
    local tcps, streams, lens = { get.tcp() }, { get.stream() }, { get.len() }
    if #tcps == 0 or #streams ~= #tcps or #lens ~= #tcps or get.icmp() or get.icmpv6() then
        return found
    end
    local windows, shifts = { get.window() }, { get.shift() }
    local headers = {}
    for _, field in ipairs({ get.ipv4() }) do
        headers[#headers + 1] = { field = field, v4 = true }
    end
    for _, field in ipairs({ get.ipv6() }) do
        headers[#headers + 1] = { field = field, v4 = false }
    end
    for i, tcp in ipairs(tcps) do
        -- The nearest header before it: tunnels have several, and so have aggregated frames.
        local nearest
        for _, header in ipairs(headers) do
            if header.field.offset < tcp.offset and (not nearest or header.field.offset > nearest.field.offset) then
                nearest = header
            end
        end
        nearest = nearest or headers[#headers]
        local head, bytes = nearest and octets(nearest.field) or {}, octets(tcp)
        if #head >= 20 and #bytes >= 14 and (nearest.v4 or #head >= 40) then
            local first, size = nearest.v4 and 13 or 9, nearest.v4 and 4 or 16
            local function name(address, port)
                return table.concat(head, ".", address, address + size - 1) .. ":" .. bytes[port] * 256 + bytes[port + 1]
            end
            -- A shift of -1 is one that the capture does not show; on a SYN there is none yet.
            local scaled = #windows == #tcps and shifts[i] and shifts[i].value ~= -1
            found[#found + 1] = {
                ip = nearest.field, tcp = tcp, v4 = nearest.v4, head = head,
                flags = bytes[13] % 16 * 256 + bytes[14], stream = streams[i].value, len = lens[i].value,
                window = scaled and windows[i].value or nil,
                from = name(first, 1), to = name(first + size, 3),
            }
        end
    end
    return found
end

---------------------------------------------------------------------------------------------------------------------------
-- NGWA
---------------------------------------------------------------------------------------------------------------------------

local ngwa = Proto("ngwa", "New General Window Advertising")
local OPTION, OPTION_LEN = 33, 6

local nf = {
    window = ProtoField.uint32("ngwa.window", "Window", base.DEC, nil, nil, "What the tightest queue so far takes, bytes"),
    option_len = ProtoField.uint8("ngwa.option_len", "Option length", base.DEC, nil, nil, "Length in the option, bytes"),
    malformed = ProtoField.string("ngwa.malformed", "Malformed", base.ASCII, "Why this is no NGWA option"),
    last_window = ProtoField.uint32("ngwa.last_window", "Last window told", base.DEC, nil, nil,
        "The last window seen on the data that this acknowledges, bytes"),
    capped = ProtoField.bool("ngwa.capped", "Advertised window is within it", base.NONE, nil, nil,
        "Whether the window advertised to the sender is at most ngwa.last_window"),
}
ngwa.fields = { nf.window, nf.option_len, nf.malformed, nf.last_window, nf.capped }
local wrong = ProtoExpert.new("ngwa.wrong_length", "Option 33 with a wrong length", expert.group.MALFORMED,
    expert.severity.ERROR)
ngwa.experts = { wrong }
ngwa.prefs.info = Pref.bool("Windows in the Info column", true, "Adds NGWA=bytes to the Info column")

-- Windows last seen by connection and sending end; `known` is the window that an ACK answers, by segment.
local windows, seen_ngwa = {}, memory()

-- Why an option 33 is none of NGWA's; nil if it is one. `fits`: whether it ends within the header.
local function fault(len, fits)
    if not len then
        return "no room for its length"
    elseif len ~= OPTION_LEN then
        return "its length is " .. len .. " bytes, not " .. OPTION_LEN
    end
    return not fits and "it runs over the end of the header" or nil
end

-- The options 33 of an IPv4 header: `at` (from 0), `len` (as written), `window`, or `why` there is none.
local function ngwa_options(head, header_len)
    local found, at, last = {}, 20, math.min(#head, header_len)
    while at < last and head[at + 1] ~= 0 do
        local kind, len = head[at + 1], head[at + 2]
        local fits = len and len >= 2 and at + len <= last
        if kind == 1 then
            at = at + 1
        elseif not fits and last < header_len then
            break -- The snap length cut it, or so it seems.
        else
            local why = fault(len, fits)
            if kind == OPTION then
                local window = not why and ((head[at + 3] * 256 + head[at + 4]) * 256 + head[at + 5]) * 256 + head[at + 6]
                found[#found + 1] = { at = at, len = len, window = window or nil, why = why }
            end
            if not fits then
                break -- Where the next option would begin is not known.
            end
            at = at + len
        end
    end
    return found
end

-- Shows one option of the header in `field`; returns its text for the Info column.
local function show_option(tree, field, option)
    local range = field.range(option.at, math.min(option.len or 1, field.len - option.at))
    local item = tree:add(ngwa, range)
    if option.len then
        item:add(nf.option_len, field.range(option.at + 1, 1))
    end
    if option.why then
        item:set_text("NGWA: malformed option: " .. option.why)
        item:add(nf.malformed, range, option.why)
        item:add_proto_expert_info(wrong, "Option 33 is no NGWA option: " .. option.why)
        return " NGWA=malformed"
    end
    item:set_text(string.format("NGWA: the path's tightest queue so far takes %.0f bytes", option.window))
    item:add(nf.window, field.range(option.at + 2, 4)):append_text(" bytes")
    return string.format(" NGWA=%.0f", option.window)
end

-- Shows what segments to an end last told beside the window that this end advertises.
local function show_last(tree, segment, last)
    local range = segment.tcp.range(14, 2)
    local item = tree:add(ngwa, range)
    item:add(nf.last_window, range, last):append_text(" bytes"):set_generated()
    if not segment.window then
        item:set_text(string.format("NGWA: last told %.0f bytes", last))
        return
    end
    local capped = segment.window <= last
    item:add(nf.capped, range, capped):set_generated()
    item:set_text(string.format("NGWA: advertises %.0f bytes, %s the %.0f last told", segment.window,
        capped and "within" or "above", last))
end

function ngwa.init()
    windows, seen_ngwa = {}, memory()
end

-- Keeps what a segment says, or what was said to the end that it goes to; returns the latter for an ACK.
local function hear(segment, window)
    local ends = windows[segment.stream] or {}
    if window then
        ends[segment.from] = window
        windows[segment.stream] = ends
    end
    local answers = bit(segment.flags, ACK) and not bit(segment.flags, SYN) and not bit(segment.flags, RST)
    return answers and ends[segment.to] or nil
end

function ngwa.dissector(_, pinfo, tree)
    if not has_fields(pinfo, seen_ngwa, ngwa.prefs) then
        return
    end
    local said, info = {}, ""
    for _, field in ipairs({ get.ipv4() }) do
        local head = octets(field)
        for _, option in ipairs(head[1] and ngwa_options(head, head[1] % 16 * 4) or {}) do
            info = info .. show_option(tree, field, option)
            if said[field.offset] == nil then
                said[field.offset] = option.window or false -- Routers and receivers read the first one.
            end
        end
        if get.icmp() then
            break -- The headers that follow are quoted.
        end
    end
    add_info(pinfo, seen_ngwa, ngwa.prefs, info)
    local new, known = is_new(seen_ngwa, pinfo.number), seen_ngwa.known[pinfo.number] or {}
    for i, segment in ipairs((next(said) or next(windows)) and segments() or {}) do
        if new then
            known[i] = hear(segment, segment.v4 and said[segment.ip.offset])
            seen_ngwa.known[pinfo.number] = next(known) and known
        end
        if known[i] then
            show_last(tree, segment, known[i])
        end
    end
end

register_postdissector(ngwa)

---------------------------------------------------------------------------------------------------------------------------
-- ACNS
---------------------------------------------------------------------------------------------------------------------------

local acns = Proto("acns", "Advanced Congestion Notification System")

local af = {
    setup = ProtoField.string("acns.setup", "Setup", base.ASCII, "offered, agreed, or declined"),
    ip = ProtoField.string("acns.ip", "Message in the IP header", base.ASCII, "I1 to I7"),
    tcp = ProtoField.string("acns.tcp", "Message in the TCP header", base.ASCII, "T1 to T6"),
    command = ProtoField.string("acns.command", "Command", base.ASCII, "normal, freeze or fallback"),
    assumed = ProtoField.bool("acns.assumed", "Read as if ACNS had been agreed on", base.NONE, nil, nil,
        "The capture lacks the handshake"),
}
acns.fields = { af.setup, af.ip, af.tcp, af.command, af.assumed }
acns.prefs.info = Pref.bool("Messages in the Info column", true, "Adds ACNS=freeze and the like to the Info column")
acns.prefs.assume = Pref.bool("Assume ACNS without a handshake", false,
    "Read connections whose handshake is not in the capture as if they had agreed on ACNS")
local EXTENSION, FLOW_LABEL = 0, 1
acns.prefs.ipv6 = Pref.enum("CMI in IPv6", EXTENSION, "Where IPv6 packets carry the bit CMI",
    { { 1, "extension", EXTENSION }, { 2, "flow_label", FLOW_LABEL } }, false)

-- By ECN field * 2 + CMI: name, words, words for the Info column, command.
local IP_MESSAGES = {
    [0] = { "I1", "no ACNS in this packet" },
    [1] = { "I1", "no ACNS in this packet" }, -- ECN 00 with CMI means nothing in the papers.
    [4] = { "I2", "ECN mode, nonce 0" },
    [2] = { "I3", "ECN mode, nonce 1" },
    [5] = { "I4", "asks for a command, nonce 0", "ask" },
    [3] = { "I5", "asks for a command, nonce 1", "ask" },
    [7] = { "I6", "freeze, written by a router", "freeze", "freeze" },
    [6] = { "I7", "fallback, written by a router", "fallback", "fallback" },
}
local TCP_MESSAGES = {
    T1 = { "T1", "normal, nonce 0", nil, "normal" },
    T2 = { "T2", "normal, nonce 1", nil, "normal" },
    T3 = { "T3", "congestion window reduced, nonce 0", "cwr" },
    T4 = { "T4", "congestion window reduced, nonce 1", "cwr" },
    T5 = { "T5", "freeze, echoed by the receiver", "freeze", "freeze" },
    T6 = { "T6", "fallback, echoed by the receiver", "fallback", "fallback" },
}

-- What is known of a frame's segment when it is first seen. `answers`: whether its sender has received data, without which T1
-- and T2 are no command.
local OFFERED, AGREED = { setup = "offered", words = "setup SYN" }, { setup = "agreed", words = "setup SYN-ACK" }
local PLAIN_ECN, NOTHING = { setup = "declined", words = "for plain ECN" }, { setup = "declined", words = "ECN too" }
local SURE = { [true] = { answers = true }, [false] = {} }
local ASSUMED = { [true] = { answers = true, assumed = true }, [false] = { assumed = true } }

-- Connections by tcp.stream; `known` are the verdicts above, by segment.
local connections, seen_acns = {}, memory()

-- Whether the hop-by-hop options of an IPv6 header carry CMI: the top bit of the option of type 0x3e.
local function extension_cmi(ip)
    for _, field in ipairs({ get.hop_by_hop() }) do
        local bytes, at = octets(field), 3
        while field.offset == ip.offset + 40 and at + 2 <= #bytes do
            if bytes[at] == 0x3e and bytes[at + 1] > 0 then
                return bytes[at + 2] >= 0x80
            end
            at = at + (bytes[at] == 0 and 1 or 2 + bytes[at + 1])
        end
    end
    return false
end

local function ip_message(segment)
    local head, ecn, cmi = segment.head, nil, nil
    if segment.v4 then
        ecn, cmi = head[2] % 4, head[7] >= 0x80
    else
        ecn = math.floor(head[2] / 16) % 4
        if acns.prefs.ipv6 == FLOW_LABEL then
            cmi = bit(head[2], 8)
        else
            cmi = extension_cmi(segment.ip)
        end
    end
    return IP_MESSAGES[ecn * 2 + (cmi and 1 or 0)]
end

-- With ECE the command counts and CWR is ignored; CMT without ECE is ignored.
local function tcp_message(flags)
    if bit(flags, ECE) then
        return bit(flags, CMT) and TCP_MESSAGES.T5 or TCP_MESSAGES.T6
    elseif bit(flags, CWR) then
        return bit(flags, NS) and TCP_MESSAGES.T4 or TCP_MESSAGES.T3
    end
    return bit(flags, NS) and TCP_MESSAGES.T2 or TCP_MESSAGES.T1
end

-- Follows the handshake.
local function on_syn(connection, flags)
    local ece, cwr, cmt = bit(flags, ECE), bit(flags, CWR), bit(flags, CMT)
    if not bit(flags, ACK) then
        local offers = ece and cwr and cmt
        connection.offered = connection.offered or offers
        return offers and OFFERED or nil
    elseif connection.offered == false then
        return nil
    end
    -- A SYN-ACK that carries the setup's flags says all, if the capture begins with it: only an offer is answered so.
    local ecn = ece and not cwr
    connection.agreed = ecn and cmt
    if connection.agreed then
        return AGREED
    end
    return connection.offered and (ecn and PLAIN_ECN or NOTHING) or nil
end

-- What is known of a segment, in the order of the capture; nil if ACNS has no meaning in it.
local function watch(segment)
    local connection = connections[segment.stream] or { sent = {} }
    connections[segment.stream] = connection
    if bit(segment.flags, SYN) then
        return on_syn(connection, segment.flags)
    end
    -- ACNS is off from the first FIN on, whose ever it is.
    connection.ended = connection.ended or bit(segment.flags, FIN) or bit(segment.flags, RST)
    connection.sent[segment.from] = connection.sent[segment.from] or segment.len > 0
    if connection.ended or connection.agreed == false or (connection.agreed == nil and connection.offered == false) then
        return nil
    end
    return (connection.agreed and SURE or ASSUMED)[connection.sent[segment.to] or false]
end

-- Adds a message; returns its words, and those for the Info column.
local function show_message(item, field, range, message, commands)
    item:add(field, range, message[1]):append_text(" (" .. message[2] .. ")")
    if commands and message[4] then
        item:add(af.command, range, message[4])
    end
end

-- Shows both headers' messages; returns their text for the Info column.
local function show_messages(tree, segment, verdict)
    local item = tree:add(acns, segment.tcp.range(12, 2))
    local said, brief = {}, {}
    local function show(field, range, message, commands, speaks)
        show_message(item, field, range, message, commands)
        if speaks then
            said[#said + 1] = message[2]
        end
        brief[#brief + 1] = message[3]
    end
    local ip, tcp = ip_message(segment), tcp_message(segment.flags)
    show(af.ip, segment.v4 and segment.ip.range(1, 6) or segment.ip.range(0, 4), ip, segment.len > 0, ip[1] ~= "I1")
    if bit(segment.flags, ACK) then
        local answers = verdict.answers or tcp[3] ~= nil
        show(af.tcp, segment.tcp.range(12, 2), tcp, answers, answers or ip[1] == "I1")
    end
    item:set_text((verdict.assumed and "As if ACNS: " or "ACNS: ") .. table.concat(said, "; "))
    if verdict.assumed then
        item:add(af.assumed, true):set_generated()
    end
    if #brief == 0 then
        return ""
    end
    return (verdict.assumed and " ACNS?=" or " ACNS=") .. table.concat(brief, ",")
end

local function show_setup(tree, segment, verdict)
    local range = segment.tcp.range(12, 2)
    local item = tree:add(acns, range)
    item:set_text("ACNS: " .. verdict.setup .. " (" .. verdict.words .. ")")
    item:add(af.setup, range, verdict.setup)
    return " ACNS=" .. verdict.setup
end

function acns.init()
    connections, seen_acns = {}, memory()
end

function acns.dissector(_, pinfo, tree)
    if not has_fields(pinfo, seen_acns, acns.prefs) then
        return
    end
    local new, known, info = is_new(seen_acns, pinfo.number), seen_acns.known[pinfo.number] or {}, ""
    for i, segment in ipairs((new or next(known)) and segments() or {}) do
        if new then
            known[i] = watch(segment)
            seen_acns.known[pinfo.number] = next(known) and known
        end
        local verdict = known[i]
        if verdict and verdict.setup then
            info = info .. show_setup(tree, segment, verdict)
        elseif verdict and (acns.prefs.assume or not verdict.assumed) then
            info = info .. show_messages(tree, segment, verdict)
        end
    end
    add_info(pinfo, seen_acns, acns.prefs, info)
end

register_postdissector(acns)
