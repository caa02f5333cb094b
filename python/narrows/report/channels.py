"""Texts about 802.11 channels for the drawing and the page, from a resolved scenario (`Scenario.channels`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from narrows.base.format import number
from narrows.report import style

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from narrows.model.resolved import Channel, Mode, Queue

#: Meaning of an interface queue's utilisation; shown beside it.
OF_THE_RATE: Final = (
    "IP bits that left the queue over what the PHY's data rate alone could carry: preambles, contention, "
    "acknowledgements and the other stations of the channel take the rest."
)

#: Most names of stations listed in a table; further ones are only counted.
MAX_NAMED: Final = 8

#: Size of the IP packets for which a channel's ceiling is given, bytes.
PACKET: Final = 1500

_OFDM: Final = ("802.11a", "802.11g")
_HT: Final = ("802.11n", "802.11ac")

# IEEE 802.11-2016, tables 19-6 and 21-5: data subcarriers by width in MHz.
_SUBCARRIERS: Final[dict[str, dict[int, int]]] = {
    "802.11n": {20: 52, 40: 108},
    "802.11ac": {20: 52, 40: 108, 80: 234, 160: 468},
}

# Tables 19-27 and 21-30: bits of a subcarrier times rate of the code, by MCS of one stream.
_BITS: Final = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 20 / 3)


def data_rate_bps(channel: Channel) -> float:
    """Return the rate at which a channel's data frames are modulated.

    R = N_SD b N_SS / T_sym: IEEE 802.11-2016, sections 19.5 and 21.5.

    Examples
    --------
    >>> from narrows import Scenario
    >>> data_rate_bps(Scenario.from_file("hybrid-contest").channels[0]) > 0
    True
    """
    mode = channel.mode
    if mode.kind == "rate":
        return float(mode.rate_bps)
    bits = _SUBCARRIERS[channel.phy][mode.width_mhz] * _BITS[mode.mcs] * mode.streams
    return float(bits * 1e9 / _symbol_ns(mode))


def _symbol_ns(mode: Mode) -> int:
    return 3200 + int(mode.guard_interval_ns)


def ceiling_bps(channel: Channel) -> float:
    """Return the most IP traffic in packets of 1500 bytes that one station alone can send over a channel.

    A packet (with aggregation as many as fit in an A-MPDU) takes DIFS, the mean backoff of CWmin / 2 slots, RTS and CTS
    if they are used, the data frame, and the ACK or block ACK, each after SIFS: IEEE 802.11-2016, section 10.3.2.
    This is an upper bound: collisions, frame errors and traffic in the other direction reduce it.

    Parameters
    ----------
    channel : Channel

    Returns
    -------
    float
        IP bits per second.
    """
    sifs, slot = channel.sifs_ns * 1e-9, channel.slot_ns * 1e-9
    header = 30 if channel.phy in _HT else 28  # QoS data have two bytes more; both with FCS
    mpdu = PACKET + channel.base.overhead_bytes + header
    packets, psdu, answer = 1, mpdu, 14  # an ACK has 14 bytes, a block ACK 32
    aggregation = channel.aggregation
    if aggregation:
        piece = 4 + 4 * math.ceil(mpdu / 4)  # the delimiter, and padding to four bytes: section 9.7
        longest = int((aggregation.max_time_ns * 1e-9 - _airtime(channel, 0)) * data_rate_bps(channel) / 8)
        room = min(aggregation.max_bytes, longest)
        packets = max(1, min(aggregation.max_mpdus, room // piece))
        psdu, answer = packets * piece, 32
    time = sifs + 2 * slot + channel.cw_min / 2 * slot + _airtime(channel, psdu) + sifs + _control(channel, answer)
    threshold = channel.rts_threshold_bytes
    if threshold is not None and psdu > threshold:
        time += _control(channel, 20) + sifs + _control(channel, 14) + sifs
    return float(packets * PACKET * 8 / time)


def _airtime(channel: Channel, psdu: int) -> float:
    """Airtime of a data frame, s: sections 15.3.4, 16.3.4, 17.4.3, 18.5.3.2, 19.4.3 and 21.4.3."""
    rate = data_rate_bps(channel)
    if channel.phy not in _HT:
        return _plain_airtime(channel, psdu, rate)
    mode = channel.mode
    training = (1, 2, 4, 4, 6, 6, 8, 8)[mode.streams - 1]
    preamble = 32e-6 + training * 4e-6 + (4e-6 if channel.phy == "802.11ac" else 0.0)
    symbol = _symbol_ns(mode) * 1e-9
    return preamble + math.ceil(round((16 + 8 * psdu + 6) / (rate * symbol), 9)) * symbol


def _control(channel: Channel, psdu: int) -> float:
    return _plain_airtime(channel, psdu, float(channel.basic_rate_bps))


def _plain_airtime(channel: Channel, psdu: int, rate: float) -> float:
    if channel.phy in (*_OFDM, *_HT):
        extension = 6e-6 if channel.phy == "802.11g" else 0.0
        return 20e-6 + math.ceil(round((16 + 8 * psdu + 6) / (rate * 4e-6), 9)) * 4e-6 + extension
    return (96e-6 if channel.short_preamble else 192e-6) + 8 * psdu / rate


def caption(channel: Channel) -> tuple[str, ...]:
    """Return two short lines for the drawing: standard and rate; RTS/CTS, aggregation and hidden stations."""
    words = {"never": "no RTS/CTS", "always": "RTS/CTS"}
    when = protection(channel)
    second = [words.get(when, f"RTS/CTS {when}")]
    if channel.aggregation:
        second.append("A-MPDU")
    if channel.hidden:
        second.append("hidden stations")
    return f"{channel.name}: {channel.phy} · {_modulation(channel)}", " · ".join(second)


def protection(channel: Channel) -> str:
    """Describe when RTS and CTS protect data frames."""
    threshold = channel.rts_threshold_bytes
    if threshold is None:
        return "never"
    return "always" if threshold == 0 else f"above {style.count(threshold)} bytes"


def _modulation(channel: Channel) -> str:
    mode, rate = channel.mode, style.rate(data_rate_bps(channel))
    return rate if mode.kind == "rate" else f"MCS {mode.mcs}, {mode.width_mhz} MHz, {rate}"


def setting_rows(channels: Sequence[Channel]) -> list[tuple[str, list[str]]]:
    """Return the rows of the table of channels: each setting, and its value in each channel.

    A setting that no channel uses is left out.
    """
    rows = [(label, [text(channel) for channel in channels]) for label, text in _SETTINGS]
    return [(label, texts) for label, texts in rows if any(texts)]


def queue_text(queue: Queue) -> str:
    """Describe a queue: its limit, and its discipline if it is not drop-tail."""
    kind = str(queue.kind)
    return str(queue.limit) if kind == "droptail" else f"{kind.upper()}, {queue.limit}"


def _stations(channel: Channel) -> str:
    names = [str(station.node) for station in channel.stations]
    if len(names) <= MAX_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:3])} … {names[-1]} ({len(names)})"


def _rate(channel: Channel) -> str:
    mode = channel.mode
    if mode.kind == "rate":
        return style.rate(mode.rate_bps)
    streams = f"{mode.streams} stream{'s' if mode.streams > 1 else ''}"
    guard = style.duration(mode.guard_interval_ns * 1e-9)
    return f"{_modulation(channel)}, {streams}, guard interval {guard}"


def _aggregation(channel: Channel) -> str:
    limits = channel.aggregation
    if not limits:
        return ""
    time, size = style.duration(limits.max_time_ns * 1e-9), style.count(limits.max_bytes)
    return f"A-MPDU of up to {limits.max_mpdus} MPDUs, {size} bytes, {time}; block ACK"


def _contention(channel: Channel) -> str:
    slot, sifs = (style.duration(getattr(channel, key) * 1e-9) for key in ("slot_ns", "sifs_ns"))
    return f"slot {slot}, SIFS {sifs}, CW {channel.cw_min} to {channel.cw_max}"


def _control_rate(channel: Channel) -> str:
    preamble = ", short preamble" if channel.short_preamble else ""
    return style.rate(channel.basic_rate_bps) + preamble


def _base_queue(channel: Channel) -> str:
    how = "one for each station" if channel.queues == "per_station" else "one for all stations"
    return f"{how}: {queue_text(channel.base.queue)}"


def _station_queue(channel: Channel) -> str:
    texts = list(dict.fromkeys(queue_text(station.queue) for station in channel.stations))
    return (
        texts[0]
        if len(texts) == 1
        else "; ".join(f"{station.node} {queue_text(station.queue)}" for station in channel.stations)
    )


def _overhead(channel: Channel) -> str:
    base = f"{channel.base.overhead_bytes} bytes"
    own = list(dict.fromkeys(f"{station.overhead_bytes} bytes" for station in channel.stations))
    return base if own == [base] else f"{base}; of stations {', '.join(own)}"


def _hidden(channel: Channel) -> str:
    pairs = [(str(a), str(b)) for a, b in channel.hidden]
    told = [f"{a} and {b}" for a, b in pairs if (b, a) in pairs and a < b]
    told += [f"{a} from {b}" for a, b in pairs if (b, a) not in pairs]
    return _some(told)


def _signals(channel: Channel) -> str:
    everyone = [channel.base, *channel.stations]
    return _some([f"{one.node} {number(one.signal_db)} dB" for one in everyone if one.signal_db])


def _errors(channel: Channel) -> str:
    return _some(
        [
            f"{one.station} {number(one.fer * 100)} %" + (f" at {style.rate(one.rate_bps)}" if one.rate_bps else "")
            for one in channel.errors
        ]
    )


def _some(texts: list[str]) -> str:
    more = f" and {len(texts) - MAX_NAMED} more" if len(texts) > MAX_NAMED else ""
    return "; ".join(texts[:MAX_NAMED]) + more


def _capture(channel: Channel) -> str:
    decibels = channel.capture_db
    return "" if decibels is None else f"above {number(decibels)} dB"


_SETTINGS: Final[tuple[tuple[str, Callable[[Channel], str]], ...]] = (
    ("Standard", lambda channel: str(channel.phy)),
    ("Base station", lambda channel: str(channel.base.node)),
    ("Stations", _stations),
    ("Data rate", _rate),
    ("Control rate", _control_rate),
    ("RTS/CTS", protection),
    ("Aggregation", _aggregation),
    ("Contention", _contention),
    ("Retry limits", lambda channel: f"short {channel.short_retry}, long {channel.long_retry}"),
    ("Queues of the base station", _base_queue),
    ("Queue of a station", _station_queue),
    ("Between MAC header and IP packet", _overhead),
    ("Hidden from each other", _hidden),
    ("Signal", _signals),
    ("Capture", _capture),
    ("Frame errors", _errors),
    ("Propagation", lambda channel: style.duration(channel.propagation_ns * 1e-9)),
    ("At most, 1500-byte packets", lambda channel: style.rate(float(f"{ceiling_bps(channel):.3g}"))),
)
