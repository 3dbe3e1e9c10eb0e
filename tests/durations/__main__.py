"""Command ``scripts/durations``: what the tests of the last run took, beside the record."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tests.durations.report import report
from tests.durations.times import parse_table, read_lanes, table_of

TABLE = Path(__file__).parent / "durations.tsv"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the report, or record the run in the table of the repository."""
    parser = argparse.ArgumentParser(prog="scripts/durations", description=__doc__)
    parser.add_argument("place", type=Path, nargs="?", default=Path("build/durations"))
    parser.add_argument(
        "--record", action="store_true", help="renew tests/durations/durations.tsv from this run"
    )
    options = parser.parse_args(arguments)
    lanes = read_lanes(options.place)
    if not lanes:
        parser.error(f"there are no durations in {options.place}: .ci/run writes them")
    if options.record:
        TABLE.write_text(table_of(lanes))
        return
    recorded = parse_table(TABLE.read_text()) if TABLE.exists() else {}
    print("\n".join(report(lanes, recorded)))


if __name__ == "__main__":
    main()
