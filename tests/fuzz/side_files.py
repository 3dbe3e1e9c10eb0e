"""Target ``files``: files and directories of random names and contents in a table."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import acidsql
from acidsql.format.names import OWNER_FILE
from tests.fuzz.broken import broken_texts
from tests.fuzz.target import Target
from tests.product.conditions import condition_of
from tests.product.conftest import Lab

_DIRECTORIES = (
    "delta_0000001_0000001_0000",
    "delete_delta_0000002_0000002_0000",
    "delta_0000003_0000003_0000",
)
_NAMES = (
    *(
        "_orc_acid_version",
        "_metadata_acid",
        "bucket_00000_flush_length",
        "bucket_00000",
        "000000_0",
    ),
    *("bucket_00001", "bucket_00000_0", "bucket_99999", ".bucket_00000.crc", "_acidsql_staging_1"),
    *("_acidsql_copies", "_tmp.x", ".hive-staging_1", "_SUCCESS", "x.orc", "bucket_", "p=1"),
    *("base_0000001", "base_0000009", "base_0000002_v0000099", "delta_0000002_0000002_0001"),
    *("delta_0000001_0000003", "delete_delta_0000009_0000009_0000", "base_x", "delta_1", "base_"),
)
_CONTENTS = (
    *(b"", b"2", b"1", b"2\n", b"{}", b"null", b"[]", b"ORC", b'{"thisFileVersion":"0"}'),
    *(b'{"thisFileVersion":"0","dataFormat":"compacted"}', b'{"dataFormat":1}', b"\xff" * 8),
    *((n).to_bytes(8, "big", signed=True) for n in (0, 3, 700, -1, 2**62)),
)
_lab: list[tuple[Lab, Path]] = []


class Addition(NamedTuple):
    """File that is put into a table, or, without content, a directory.

    Attributes:
        below: directory in the table, empty for the table itself.
        name: of the file.
        content: None for a directory.
    """

    below: str
    name: str
    content: bytes | None


def _is_name(text: str) -> bool:
    return text not in ("", ".", "..") and not set(text) & {"/", "\0"} and _fits(text)


def _fits(text: str) -> bool:
    try:
        return len(text.encode()) <= 255
    except UnicodeEncodeError:
        return False


_ADDITIONS = st.builds(
    Addition,
    below=st.sampled_from(["", *_DIRECTORIES, "base_0000009", "delta_0000002_0000002_0001"]),
    name=st.one_of(st.sampled_from(_NAMES), broken_texts(_NAMES, _NAMES).filter(_is_name)),
    content=st.one_of(
        st.none(), st.sampled_from(_CONTENTS), st.sampled_from(_CONTENTS), st.binary(max_size=60)
    ),
)


@contextmanager
def _session() -> Iterator[None]:
    """Make a table with rows 1 and 3, for others to copy; row 2 is deleted."""
    running = SparkSession.getActiveSession()
    with tempfile.TemporaryDirectory(prefix="acidsql-fuzz-") as home:
        spark = running or (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", "1g")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.sql.warehouse.dir", f"{home}/warehouse")
            .config("spark.acidsql.synchronous", "off")
            .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        lab = Lab(spark)
        made = lab.create("id INT, s STRING", values="(1, 'a'), (2, 'b')")
        lab.sql(f"DELETE FROM {made} WHERE id = 2")
        lab.insert(made, "(3, 'c')")
        _lab[:] = [(lab, lab.root(made))]
        yield
        lab.sql(f"DROP TABLE {made}")
        if running is None:
            spark.stop()


def _check(additions: list[Addition]) -> None:
    lab, written = _lab[0]
    table = lab.create("id INT, s STRING")
    root = lab.root(table)
    shutil.copytree(written, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(OWNER_FILE))
    lab.session.metastore.seed_write_id("default", table, 4)
    for addition in additions:
        _add(root, addition)
    before = _tree(root)
    found = _rows(lab, f"SELECT id FROM {table}")
    assert found is None or set(found) <= {(1,), (3,)}, f"{found}: other rows than were written"
    assert _tree(root) == before, "a query changed files"
    changed = _rows(lab, f"DELETE FROM {table} WHERE id = 3")
    assert before.items() <= _tree(root).items(), "a change took files away"
    after = _rows(lab, f"SELECT id FROM {table}")
    if found is not None:
        assert after is not None, "a change made a table unreadable"
        expected = [row for row in found if row != (3,)] if changed is not None else found
        assert sorted(after) == sorted(expected)
    acidsql.release(lab.spark)
    lab.sql(f"DROP TABLE {table}")


def _add(root: Path, addition: Addition) -> None:
    place = root / addition.below / addition.name
    try:
        place.parent.mkdir(exist_ok=True)
        if addition.content is None:
            place.mkdir()
        else:
            place.write_bytes(addition.content)
    except (FileExistsError, IsADirectoryError, NotADirectoryError):
        pass  # two additions of one name


def _tree(root: Path) -> dict[str, bytes | None]:
    """Return the contents of all files, but for those that acidsql itself makes and deletes."""
    return {
        os.fsdecode(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }


def _rows(lab: Lab, text: str) -> list[tuple[object, ...]] | None:
    """Run a statement; return None if it is refused."""
    try:
        return lab.sql(text)
    except PySparkException as error:
        assert condition_of(error)
        return None


FILES = Target(
    name="files",
    summary="tables with strange files and directories, in Spark",
    inputs=st.lists(_ADDITIONS, min_size=1, max_size=3),
    check=_check,
    around=_session,
    is_slow=True,
)
