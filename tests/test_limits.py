"""Every tuning constant says what it is."""

from __future__ import annotations

import dataclasses
import inspect
import re

import pytest

from acidsql.limits import Limits

_TEXT = "\n".join(inspect.getdoc(group) or "" for group in Limits.__bases__)
_UNITS = (
    "bytes", "seconds", "events", "rows", "files", "threads", "words", "numbers", "partitions",
    "values", "bits", "stripes", "tails", "filters", "tables", "transactions", "compactions",
    "call", "ids", "attempts", "connections", "part", "pauses", "word", "characters", "directories",
    "batches", "records",
)  # fmt: skip


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Limits)])
def test_a_constant_is_described_and_its_name_ends_with_its_unit(name: str) -> None:
    assert re.search(rf"^ +{name}: \w", _TEXT, re.MULTILINE)
    assert name.endswith(_UNITS)
