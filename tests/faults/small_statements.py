"""All kinds of statements without Spark, by name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.faults.small_actor import Kind
from tests.faults.small_catalog import CATALOG_KINDS
from tests.faults.small_rows import ROW_KINDS

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (*ROW_KINDS, *CATALOG_KINDS)}
