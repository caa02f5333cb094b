"""Indented JSON: the text of Python's own encoder."""

from __future__ import annotations

import enum
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrows.base import indented


def own(content: Any) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
KEYS = st.text() | st.integers() | st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(KEYS, inner),
        max_leaves=40,
    )
)
def test_any_content_has_the_text_of_the_standard_library(content: Any) -> None:
    assert indented.dumps(content) == own(content)


class Colour(enum.IntEnum):
    """A subclass of int."""

    RED = 1


class Name(str):
    """A subclass of str."""

    __slots__ = ()


class Rows(list[int]):
    """A subclass of list."""


@pytest.mark.parametrize(
    "content",
    [
        {"colour": Colour.RED, "name": Name("ä"), "rows": Rows([1])},
        [Colour.RED, Name("\n")],
        {Name("s1"): {"deep": [[], {}, ()]}, Colour.RED: [{}]},
        Rows(),
    ],
)
def test_subclasses_are_written_as_their_bases(content: Any) -> None:
    assert indented.dumps(content) == own(content)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_refused_at_any_depth(number: float) -> None:
    for content in (number, [number], {"a": [1, {"b": number}, []]}):
        with pytest.raises(ValueError, match="not JSON compliant"):
            indented.dumps(content)


def test_what_is_not_of_json_is_refused() -> None:
    for content in (object(), {"a": {1}}, {"a": [[], b""]}, {(1, 2): [[]]}):
        with pytest.raises(TypeError):
            indented.dumps(content)
