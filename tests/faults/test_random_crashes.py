"""Random histories of statements without Spark, whose process ends at any of their steps."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from acidsql.errors import AcidSqlError
from tests.faults.forked import Killed, Watch
from tests.faults.small_actor import NEW, RENAMED, Actor, Kind, P
from tests.faults.small_judge import difference, goes_on
from tests.faults.small_statements import KINDS
from tests.faults.small_templates import Template, make_templates
from tests.faults.small_world import SharedClock, State, World, found_state

# What a statement needs, beyond the table t.
_NEEDED: Mapping[str, Callable[[State], bool]] = {
    **{
        name: lambda state: P in state.tables
        for name in (
            *("insert partitions", "multi insert", "overwrite partition", "update partitions"),
            *("delete", "merge", "truncate", "load overwrite", "drop", "drop partition"),
        )
    },
    "create": lambda state: NEW not in state.tables,
    "create as select": lambda state: NEW not in state.tables,
    "create database": lambda state: "e" not in state.databases,
    "drop database": lambda state: "d" in state.databases,
    "rename": lambda state: (
        P in state.tables and RENAMED not in state.tables and "d" in state.databases
    ),
    "add partition": lambda state: P in state.tables and ("7",) not in state.tables[P],
    "rename partition": lambda state: (
        P in state.tables and ("1",) in state.tables[P] and ("8",) not in state.tables[P]
    ),
}


class Crashes(RuleBasedStateMachine):
    """Statements of one process after the other; each either ends or dies."""

    world: World
    template: Template

    def __init__(self) -> None:
        super().__init__()
        self.world.copy_from(self.template.path)
        self.state = self.template.state
        self.number = 0

    @rule(kind=st.sampled_from(sorted(KINDS)))
    def run_statement(self, kind: str) -> None:
        after = self.after(KINDS[kind])
        with self.world.process() as session:
            try:
                KINDS[kind].run(Actor(self.world, session, self.tag))
            except AcidSqlError:
                assert after is None or after == self.state
        self.check([self.state if after is None else after])

    @rule(kind=st.sampled_from(sorted(KINDS)), step=st.integers(0, 60))
    def die_at_a_step(self, kind: str, step: int) -> None:
        after = self.after(KINDS[kind])
        dying = Watch(dies_at=step)
        with (
            self.world.process() as session,
            suppress(Killed, AcidSqlError),
            dying.watching(),
        ):
            KINDS[kind].run(Actor(self.world, session, self.tag))
        self.check([self.state] if after is None else [self.state, after])

    @property
    def tag(self) -> str:
        return f"n{self.number}"

    def after(self, kind: Kind) -> State | None:
        """Return the state after a statement; None if it must be refused."""
        self.number += 1
        needed = _NEEDED.get(kind.name)
        if needed is not None and not needed(self.state):
            return None
        return kind.effect(self.state, self.tag)

    def check(self, allowed: list[State]) -> None:
        with self.world.process() as session:
            found = found_state(self.world, session)
        assert found in allowed, difference(found, allowed)
        self.state = found

    def teardown(self) -> None:
        always: Any = random.Random()
        always.random = lambda: 0.0
        goes_on(self.world, self.template, self.state, always)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [8, pytest.param(100, marks=pytest.mark.repeated)])
def test_any_history_with_deaths_is_one_of_whole_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, examples: int
) -> None:
    world = World(tmp_path / "world", SharedClock())
    templates = make_templates(world, tmp_path / "templates", ["plain"])
    monkeypatch.setattr(Crashes, "world", world, raising=False)
    monkeypatch.setattr(Crashes, "template", templates["plain"], raising=False)
    run_state_machine_as_test(
        Crashes,
        settings=settings(max_examples=examples, stateful_step_count=10, deadline=None),
    )
