"""All families of faults, by name."""

from __future__ import annotations

from tests.faults import metastore_kills
from tests.faults.campaign import Family

FAMILIES: dict[str, Family] = {
    metastore_kills.NAME: metastore_kills.FAMILY,
}
