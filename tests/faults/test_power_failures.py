"""Power failures in statements without Spark, on the model of a disk that forgets.

``tests/product/test_durability.py`` has Spark's statements. Here each kind is cheap, and power
fails at each of its moments, with what was not synced lost or left in part.
"""

from __future__ import annotations

import re
import shutil
from random import Random

import pytest

from acidsql.errors import AcidSqlError
from acidsql.metastore.embedded.store import EmbeddedMetastore
from tests.faults.small_actor import Actor, Kind
from tests.faults.small_judge import difference
from tests.faults.small_statements import KINDS
from tests.faults.small_templates import Template, make_templates
from tests.faults.small_world import SharedClock, State, World, found_state
from tests.metastore.local_files import LocalFiles
from tests.product.disk import Moment, Recorder, crash


class Machine:
    """Machine that runs a statement, and whose power fails."""

    def __init__(self, world: World, template: Template) -> None:
        self.world = world
        self.template = template

    def moments(self, kind: Kind, *, synchronous: bool = True) -> list[Moment]:
        """Run a statement; return the moments at which power may fail."""
        self.world.copy_from(self.template.path)
        with self.world.process() as session:
            found_state(self.world, session)  # does what is left from before
        with self.world.process(LocalFiles(synchronous=synchronous)) as session:
            metastore = session.metastore
            assert isinstance(metastore, EmbeddedMetastore)
            recorder = Recorder(root=self.world.root)
            with recorder.recording(metastore.database):
                kind.run(Actor(self.world, session, "new"))
                recorder.statement_returned()
        return recorder.moments

    def found(self, moment: Moment, random: Random | None) -> State:
        """Let power fail at a moment, and read what is left."""
        shutil.rmtree(self.world.root)
        crash(moment, self.world.root, random)
        landing = self.world.root / "landing"
        for file in sorted(landing.iterdir(), reverse=True):
            # It was not written to since, though it may be hidden; the model knows no times.
            name = re.sub(r"^_acidsql_loaded_\d+_", "", file.name)
            if name != file.name and (landing / name).exists():
                file.unlink()  # a file that is renamed in its directory has one name, too
            else:
                shutil.copystat(self.template.path / "landing" / name, file)
        for path in self.world.root.glob("metastore.sqlite*"):
            path.unlink()
        (self.world.root / "metastore.sqlite").write_bytes(moment.metastore)
        with self.world.process() as session:
            return found_state(self.world, session)

    def wrong(self, kind: Kind, moment: Moment, random: Random | None) -> str | None:
        """Return what is wrong with what is left; None if nothing is."""
        before = self.template.state
        after = kind.effect(before, "new")
        allowed = [after] if moment.returned else [before, after]
        try:
            found = self.found(moment, random)
        except (AcidSqlError, AssertionError, OSError) as error:
            return f"{type(error).__name__}: {error}"
        return None if found in allowed else difference(found, allowed)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    home = tmp_path_factory.mktemp("power")
    world = World(home / "world", SharedClock())
    templates = make_templates(world, home / "templates", ["plain"])
    return Machine(world, templates["plain"])


@pytest.mark.sample("insert", "rename", "drop partition")
@pytest.mark.parametrize("name", KINDS)
def test_power_failures_leave_the_state_before_or_after(machine: Machine, name: str) -> None:
    kind = KINDS[name]
    moments = machine.moments(kind)
    assert moments[-1].returned
    random = Random(name)
    for number, moment in enumerate(moments):
        for chance in (None, random, random):
            wrong = machine.wrong(kind, moment, chance)
            assert wrong is None, f"moment {number} of {len(moments)}: {wrong}"


def test_without_syncs_rows_are_lost(machine: Machine) -> None:
    """Check that the disk forgets."""
    for name in ("insert", "rename", "overwrite partition"):
        *_, last = machine.moments(KINDS[name], synchronous=False)
        assert machine.wrong(KINDS[name], last, None)
