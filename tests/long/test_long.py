"""Tests of the long check: its parts exist, and a failure can be repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.families import FAMILIES
from tests.long import __main__ as long
from tests.long.parts import PARTS, Part

SEED = 20_261_127


def test_each_family_of_faults_has_its_campaign() -> None:
    campaigns = {part.name for part in PARTS if part.name.startswith("faults-")}
    assert campaigns == {f"faults-{name}" for name in FAMILIES}


def test_no_part_has_the_name_of_another() -> None:
    assert len({part.name for part in PARTS}) == len(PARTS)


def test_seeds_come_from_the_one_that_is_given() -> None:
    random = next(part for part in PARTS if part.name == "tests")
    assert random.variables(SEED) == {"ACIDSQL_SEEDS": "20261127:20261139"}
    soak = next(part for part in PARTS if part.name == "soak")
    assert soak.arguments(SEED)[-2:] == ("--seed", "20261127")


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have two short parts; the second fails."""

    def part(name: str, status: int) -> Part:
        return Part(name=name, arguments=lambda seed: ("-c", f"print({seed}); exit({status})"))

    short = (part("good", 0), part("bad", 3))
    monkeypatch.setattr(long, "PARTS", short)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("parts")
def test_a_failure_is_reported_with_the_command_that_repeats_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert long.main(["--seed", "7"]) == 1
    output = capsys.readouterr().out.splitlines()
    assert output[0] == "seed 7: good bad"
    assert {line.split(" in ")[0] for line in output[1:3]} == {
        "good: passed",
        "bad: FAILED (3), see build/long/bad.log",
    }
    assert output[3].startswith("FAILED bad; to repeat it: SPARK_LOCAL_IP=127.0.0.1 ")
    assert output[3].endswith("-c 'print(7); exit(3)'")
    assert output[4] == "long: seed 7, 2 parts in 0 minutes, failed: bad"
    assert Path("build/long/bad.log").read_text() == "7\n"


@pytest.mark.usefixtures("parts")
def test_chosen_parts_run_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert long.main(["good", "--seed", "7"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "long: seed 7, 1 parts in 0 minutes, all passed"
