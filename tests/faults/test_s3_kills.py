"""Short form of the kills on S3."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.metastore.catalog_changes import FileOperation, LoadedFile
from acidsql.metastore.embedded import file_operations
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import TxnState
from tests.faults.kill_plan import cases, cells, plan
from tests.faults.kill_steps import ANY, RANDOM, S3, recorded
from tests.faults.s3_kills import S3World
from tests.requirements import require_tools
from tests.s3.store import Store, connected, opened


def test_statements_are_killed_at_any_step_or_at_random_moments() -> None:
    """``python -m tests.faults.record_kills s3`` counts their steps."""
    kinds = {case.name: case.kind for case in cases(S3)}
    assert "RENAME PARTITION" not in kinds.values()
    assert set(recorded(S3)) <= set(kinds)
    assert {kind for step, kind in cells(S3) if step == RANDOM} == set(kinds.values())
    assert {kind for step, kind in cells(S3) if step == ANY} == {
        kinds[name] for name in recorded(S3)
    }
    for seed in range(200):
        made = plan(seed, S3)
        assert made.step == RANDOM or 1 <= made.occurrence <= recorded(S3)[made.case.name][ANY]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[S3World]:
    """World with files to load and without tables."""
    with opened() as store:
        made = S3World(tmp_path / "world", store)
        made.root.mkdir()
        for name in ("one.orc", "two.orc"):
            made.land_file(name, name.encode())
        EmbeddedMetastore(str(made.metastore)).close()
        yield made


@pytest.mark.s3
def test_files_whose_load_committed_before_its_client_died_are_judged_as_deleted(
    world: S3World,
) -> None:
    one, two = world.bucket.modified("world/land/").values()
    loaded = (
        LoadedFile(path=world.location("land/one.orc"), size=7, modified=one),
        LoadedFile(path=world.location("land/two.orc"), size=7, modified=two - 1),
    )
    store = EmbeddedMetastore(str(world.metastore))
    txn_id = store.open_txn("ann", "host")
    operation = FileOperation(txn_id=txn_id, holding="", moves=(), loaded=loaded)
    with store.database.write() as connection:
        file_operations.enter(connection, [operation], TxnState.COMMITTED)
    store.commit_txn(txn_id)
    # Of two.orc another version was loaded.
    assert world.state().landed == ("two.orc",)
    assert world.bucket.keys("world/land/") == ["world/land/one.orc", "world/land/two.orc"]


@pytest.mark.s3
def test_what_a_dying_jvm_deletes_while_a_world_is_downloaded_is_not_in_it(world: S3World) -> None:
    assert isinstance(world.bucket, Store)
    other = connected(world.bucket.endpoint)

    def delete(**_: object) -> None:
        other.delete("world/land/one.orc")

    world.bucket.client.meta.events.register("after-call.s3.ListObjectsV2", delete)
    assert world.state().landed == ("two.orc",)


@pytest.mark.s3
def test_killed_statements_have_happened_or_not(tmp_path: Path) -> None:
    require_tools("mvn", "java")
    # In a process of its own, which starts and ends its JVM.
    wanted = ("INSERT", ANY)
    seed = next(s for s in range(1000) if (plan(s, S3).case.kind, plan(s, S3).step) == wanted)
    command = ["s3-kills", "--count", "2", "--seed", str(seed), "--home", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", *command],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "2 faults, 2 of them struck, 0 violations" in done.stdout
