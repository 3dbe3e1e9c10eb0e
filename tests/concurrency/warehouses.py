"""Warehouses of a run: where its tables are, and how they are read without acidsql."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol

from tests.s3.jars import class_path
from tests.s3.store import BUCKET, connected, opened, settings

LOCAL, S3 = "local", "s3"
# File in a run's directory with the address of the server that has its tables.
_ENDPOINT = "s3-endpoint"
_PREFIX = "warehouse/"


class Entry(NamedTuple):
    """File or directory, relative to the warehouse."""

    path: PurePosixPath
    is_file: bool


class Warehouse(Protocol):
    """Warehouse of a run."""

    @property
    def uri(self) -> str:
        """Directory of the tables, for Spark."""

    @property
    def settings(self) -> Mapping[str, str]:
        """Settings of the sessions that use it."""

    def files(self, directory: str) -> Iterator[tuple[str, bytes]]:
        """Yield names and contents of the files in a directory.

        Args:
            directory: qualified path.
        """

    def entries(self) -> Iterator[Entry]:
        """Yield everything that is in it."""


class LocalWarehouse:
    """Warehouse on the local disk."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.uri = str(place)
        self.settings: Mapping[str, str] = {}

    def files(self, directory: str) -> Iterator[tuple[str, bytes]]:
        """Yield names and contents of the files in a directory."""
        for file in Path(directory.removeprefix("file:")).iterdir():
            yield file.name, file.read_bytes()

    def entries(self) -> Iterator[Entry]:
        """Yield everything that is in it."""
        for path in self._place.rglob("*"):
            yield Entry(PurePosixPath(path.relative_to(self._place)), path.is_file())


class S3Warehouse:
    """Warehouse on S3.

    Args:
        endpoint: address of the server.
    """

    def __init__(self, endpoint: str) -> None:
        self._bucket = connected(endpoint)
        self.uri = f"s3a://{BUCKET}/{_PREFIX.rstrip('/')}"
        self.settings: Mapping[str, str] = {
            **{f"spark.hadoop.{key}": value for key, value in settings(endpoint).items()},
            "spark.driver.extraClassPath": class_path(),
        }

    def files(self, directory: str) -> Iterator[tuple[str, bytes]]:
        """Yield names and contents of the files in a directory."""
        prefix = directory.removeprefix(f"s3a://{BUCKET}/") + "/"
        for key in self._bucket.keys(prefix):
            yield key.removeprefix(prefix), self._bucket.read(key)

    def entries(self) -> Iterator[Entry]:
        """Yield everything that is in it; a directory is there if something is in it."""
        keys = [key.removeprefix(_PREFIX) for key in self._bucket.keys(_PREFIX)]
        files = {PurePosixPath(key) for key in keys if not key.endswith("/")}
        above = {parent for path in files for parent in path.parents[:-1]}
        marked = {PurePosixPath(key) for key in keys if key.endswith("/") and key != "/"}
        yield from (Entry(path, is_file=True) for path in files)
        yield from (Entry(path, is_file=False) for path in above | marked)


def warehouse_of(home: Path) -> Warehouse:
    """Return the warehouse of the run in a directory."""
    endpoint = home / _ENDPOINT
    if endpoint.exists():
        return S3Warehouse(endpoint.read_text())
    return LocalWarehouse(home / "warehouse")


@contextmanager
def prepared(home: Path, filesystem: str) -> Iterator[None]:
    """Have the warehouse of a run on a file system, ``LOCAL`` or ``S3``, within the block."""
    if filesystem == LOCAL:
        yield
        return
    with opened() as store:
        (home / _ENDPOINT).write_text(store.endpoint)
        yield
