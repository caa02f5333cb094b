"""The two JSON formats that scripts rely on, as promised in docs/json.md."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from narrows.metrics.flows import FlowMetrics
from narrows.metrics.queues import QueueMetrics
from narrows.metrics.routers import RouterMetrics
from narrows.metrics.stations import ChannelMetrics, StationMetrics
from narrows.outcome import summary
from narrows.outcome.rows import WORDS
from narrows.studies.reproduction.result import Cell, Claim, Reproduction

if TYPE_CHECKING:
    from narrows.outcome import Batch, Run

DOC = Path(__file__).resolve().parents[2] / "docs" / "json.md"

NUMBER = {"type": ["number", "null"]}
INTERVAL = {"oneOf": [{"type": "null"}, {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}]}
DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


Kind = type[FlowMetrics] | type[QueueMetrics] | type[RouterMetrics] | type[StationMetrics] | type[ChannelMetrics]


def row(kind: Kind, with_intervals: bool) -> dict[str, Any]:
    names = [field.name for field in fields(kind)]
    metrics = [name for name in names if name not in WORDS]
    properties: dict[str, Any] = dict.fromkeys(metrics, NUMBER)
    properties |= {name: {"type": ["string", "null"]} for name in names if name in WORDS}
    required = list(properties)
    if with_intervals:
        intervals = dict.fromkeys(metrics, INTERVAL)
        properties["ci95"] = {
            "type": "object",
            "properties": intervals,
            "required": metrics,
            "additionalProperties": False,
        }
        required.append("ci95")
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def rows(kind: Kind, with_intervals: bool, at_least: int = 1) -> dict[str, Any]:
    return {"type": "array", "items": row(kind, with_intervals), "minItems": at_least}


def shape(several: bool) -> dict[str, Any]:
    measured = {
        "flows": rows(FlowMetrics, several),
        "queues": rows(QueueMetrics, several),
        "routers": rows(RouterMetrics, several, 0),
        "stations": rows(StationMetrics, several, 0),
        "channels": rows(ChannelMetrics, several, 0),
        "jain": NUMBER,
    }
    work = {"digest": DIGEST, "events": {"type": "integer"}, "packets": {"type": "integer"}}
    properties: dict[str, Any] = {
        "format": {"const": 1},
        "scenario": {"type": "string"},
        "seed": {"type": "integer", "minimum": 0},
        "runs": {"type": "integer", "minimum": 1},
        "version": {"type": "string"},
        "duration_s": {"type": "number"},
        "overrides": {"type": "object", "additionalProperties": {"type": "string"}},
        **work,
        **measured,
    }
    if several:
        alone = {
            "run": {"type": "integer", "minimum": 0},
            **work,
            "flows": rows(FlowMetrics, False),
            "queues": rows(QueueMetrics, False),
            "routers": rows(RouterMetrics, False, 0),
            "stations": rows(StationMetrics, False, 0),
            "channels": rows(ChannelMetrics, False, 0),
            "jain": NUMBER,
        }
        properties["ci95"] = {"type": "object", "properties": {"jain": INTERVAL}, "required": ["jain"]}
        properties["runs_detail"] = {
            "type": "array",
            "items": {
                "type": "object",
                "properties": alone,
                "required": list(alone),
                "additionalProperties": False,
            },
        }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def test_a_run_has_the_promised_shape(one: Run) -> None:
    jsonschema.validate(json.loads(summary.dumps(one.summary)), shape(several=False))


def test_a_batch_has_the_promised_shape(three: Batch) -> None:
    made = json.loads(summary.dumps(three.summary))
    jsonschema.validate(made, shape(several=True))
    assert made["runs"] == 3
    assert [detail["run"] for detail in made["runs_detail"]] == [0, 1, 2]


def test_a_run_and_a_batch_with_a_channel_have_the_promised_shape(cell: Run, cells: Batch) -> None:
    alone = json.loads(summary.dumps(cell.summary))
    jsonschema.validate(alone, shape(several=False))
    assert [station["name"] for station in alone["stations"]] == ["ap", "w1", "w2"]
    assert [queue["channel"] for queue in alone["queues"]] == [None, None, "wlan", "wlan", "wlan"]
    many = json.loads(summary.dumps(cells.summary))
    jsonschema.validate(many, shape(several=True))
    assert many["channels"][0]["ci95"]["airtime_ratio"] is not None


def test_without_channels_there_are_no_stations(one: Run, three: Batch) -> None:
    for made in (one.summary, three.summary, three.summary["runs_detail"][0]):
        assert made["stations"] == made["channels"] == []
        assert all(queue["channel"] is None for queue in made["queues"])


def test_a_run_and_a_batch_with_a_scheme_have_the_promised_shape(advised: Run, advised_often: Batch) -> None:
    alone = json.loads(summary.dumps(advised.summary))
    jsonschema.validate(alone, shape(several=False))
    assert [router["name"] for router in alone["routers"]] == ["r1", "r2"]
    assert all(isinstance(value, int) for key, value in alone["routers"][0].items() if key != "name")
    many = json.loads(summary.dumps(advised_often.summary))
    jsonschema.validate(many, shape(several=True))
    low, high = many["routers"][0]["ci95"]["inserted"]
    assert low < many["routers"][0]["inserted"] < high
    assert many["runs_detail"][0]["routers"][1]["kept"] > 0


def test_without_a_scheme_there_are_no_routers(one: Run, three: Batch) -> None:
    assert all(made["routers"] == [] for made in (one.summary, three.summary, three.summary["runs_detail"][0]))


def test_the_numbers_are_those_of_the_metrics(one: Run) -> None:
    made = one.summary["flows"][0]
    assert {key: made[key] for key in ("name", "cc")} == {"name": one.flows[0].name, "cc": one.flows[0].cc}
    assert made["throughput_mbps"] == one.flows[0].throughput_mbps
    assert isinstance(made["sent_bytes"], int)


def test_means_are_those_of_the_runs(three: Batch) -> None:
    made = three.summary
    values = [detail["flows"][0]["goodput_mbps"] for detail in made["runs_detail"]]
    assert made["flows"][0]["goodput_mbps"] == pytest.approx(sum(values) / 3)
    low, high = made["flows"][0]["ci95"]["goodput_mbps"]
    assert low <= made["flows"][0]["goodput_mbps"] <= high


def test_nan_never_reaches_json() -> None:
    assert summary._plain({"a": [math.nan, math.inf, (1.5,)]}) == {"a": [None, None, [1.5]]}


def test_a_reproduction_has_the_promised_shape() -> None:
    made = Reproduction(
        "acns",
        (Cell("a", 1.0, 2.0, 1.5, 2.5, "MB"), Cell("b", None, math.nan, None, None, "ms")),
        (Claim("c", True, "2"),),
        {},
        "",
    )
    keys: dict[str, Any] = {"name": {"type": "string"}, "unit": {"type": "string"}}
    keys |= dict.fromkeys(["published", "measured", "low", "high"], NUMBER)
    cell = {"type": "object", "properties": keys, "required": list(keys), "additionalProperties": False}
    claim = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "holds": {"type": "boolean"},
            "verdict": {"enum": ["holds", "differs", "undecided"]},
            "measured": {"type": "string"},
            "rule": {"type": "string"},
            "runs": {"type": ["integer", "null"]},
            "rests_on": {"type": "string"},
        },
        "required": ["text", "holds", "verdict", "measured", "rule", "runs", "rests_on"],
        "additionalProperties": False,
    }
    jsonschema.validate(
        json.loads(json.dumps(made.to_json(), allow_nan=False)),
        {
            "type": "object",
            "properties": {
                "format": {"const": 1},
                "paper": {"const": "acns"},
                "cells": {"type": "array", "items": cell, "minItems": 2},
                "claims": {"type": "array", "items": claim, "minItems": 1},
            },
            "required": ["format", "paper", "cells", "claims"],
            "additionalProperties": False,
        },
    )


@pytest.mark.parametrize("kind", [FlowMetrics, QueueMetrics, RouterMetrics, StationMetrics, ChannelMetrics])
def test_every_metric_is_documented(kind: Kind) -> None:
    text = DOC.read_text(encoding="utf-8")
    missing = [field.name for field in fields(kind) if f"`{field.name}`" not in text]
    assert missing == []


@pytest.mark.parametrize("several", [False, True])
def test_every_key_is_documented(several: bool) -> None:
    text = DOC.read_text(encoding="utf-8")
    missing = [key for key in shape(several)["properties"] if f"`{key}`" not in text]
    assert missing == []
