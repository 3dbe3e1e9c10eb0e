"""Parts of the long check: what repeats a rule with other inputs, as commands with a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_SERVERS = "hdfs or s3 or kafka or cluster or metastore or kerberos or serve or hive"
_REPEATED = "repeated or golden or random"
# Seeds of each test with random inputs.
_RANDOM_TESTS = 12
# Faults of a family. One takes seconds, but for those that start new processes and servers.
_FAULTS = {
    "kills": 60,
    "s3-kills": 12,
    "metastore-kills": 2000,
    "interrupts": 16,
    "pauses": 6,
    "disk": 12,
    "io": 20,
    "clock": 12,
    "executors": 8,
    "metastore-server": 60,
    "metastore-calls": 200,
    "hdfs": 12,
    "streams": 6,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Piece of the long check.

    Attributes:
        name: what it is called in the report, and on the command line.
        arguments: of the interpreter, for a seed.
        variables: of the environment, for a seed.
        alone: it uses both processors; others run two at a time.
    """

    name: str
    arguments: Callable[[int], tuple[str, ...]]
    variables: Callable[[int], Mapping[str, str]] = field(default=lambda _: {})
    alone: bool = False


def _tests(chosen: str, processes: int) -> Callable[[int], tuple[str, ...]]:
    workers = ("-n", str(processes), "--dist", "worksteal") if processes else ("-n", "0")
    return lambda _: ("-m", "pytest", *workers, "-m", chosen)


def _seeds_of_tests(seed: int) -> Mapping[str, str]:
    return {"ACIDSQL_SEEDS": f"{seed}:{seed + _RANDOM_TESTS}"}


def _family(name: str, count: int) -> Part:
    counted = ("-m", "tests.faults", name, "--count", str(count))
    return Part(name=f"faults-{name}", arguments=lambda seed: (*counted, "--seed", str(seed)))


def _soak(name: str, *options: str) -> Part:
    return Part(
        name=name,
        arguments=lambda seed: ("-m", "tests.concurrency", *options, "--seed", str(seed)),
    )


PARTS = (
    Part(
        name="tests",
        arguments=_tests(f"({_REPEATED}) and not (tpcds or {_SERVERS})", 2),
        variables=_seeds_of_tests,
        alone=True,
    ),
    Part(
        name="servers",
        arguments=_tests(f"({_REPEATED}) and ({_SERVERS})", 0),
        variables=_seeds_of_tests,
    ),
    Part(name="tpcds", arguments=_tests("tpcds", 0)),
    Part(
        name="histories",
        arguments=lambda seed: (
            *("-m", "tests.hive.run_histories", "--count", "16"),
            *("--first-seed", str(seed)),
        ),
    ),
    _soak("soak", "--minutes", "10"),
    _soak("soak-rows", "--minutes", "5", "--unit", "row"),
    _soak("soak-s3", "--minutes", "4", "--filesystem", "s3"),
    *(_family(name, count) for name, count in _FAULTS.items()),
    Part(
        name="fuzz",
        arguments=lambda seed: ("-m", "tests.fuzz", "--minutes", "0.5", "--seed", str(seed)),
    ),
)
