"""All families of faults, by name."""

from __future__ import annotations

from tests.faults import clock, disk, executors, interrupts, io, pauses
from tests.faults.campaign import Family

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        clock.FAMILY,
        disk.FAMILY,
        executors.FAMILY,
        interrupts.FAMILY,
        io.FAMILY,
        pauses.FAMILY,
    )
}
