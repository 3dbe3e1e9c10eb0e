"""All families of faults, by name."""

from __future__ import annotations

from tests.faults import interrupts
from tests.faults.campaign import Family

FAMILIES: dict[str, Family] = {family.name: family for family in (interrupts.FAMILY,)}
