"""Kills of statements on tables that are on S3, as ``kills`` on the local disk.

S3 copies parts of files of every size here, so that clients are killed within uploads too. What a
shot leaves is downloaded, and read without Spark.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from acidsql.storage.directory import Listing, child
from tests.faults.campaign import Family, Fault, Options
from tests.faults.kill_model import State
from tests.faults.kill_plan import cells
from tests.faults.kill_steps import S3
from tests.faults.kill_world import PLACES, Site, World
from tests.faults.kills import campaign
from tests.metastore.local_files import LocalFiles
from tests.s3.jars import class_path
from tests.s3.store import BUCKET, Bucket, opened

NAME = "s3-kills"
# Seconds for which a JVM may go on deleting.
_PATIENCE = 240.0


class DownloadedFiles(LocalFiles):
    """Files of an object store, on the local disk."""

    def is_object_store(self, path: str) -> bool:  # noqa: ARG002
        """Return True: they are read as the store's are."""
        return True

    def list_all(self, paths: Sequence[str]) -> Sequence[Listing]:
        """List directories; files were modified at the milliseconds that S3A reports."""
        return [_in_milliseconds(listing) for listing in LocalFiles.list_all(self, paths)]

    def list_trees(self, paths: Collection[str]) -> Mapping[str, Listing]:
        """List everything below directories."""
        found: dict[str, Listing] = {}
        for path in paths:
            found[path] = listing = self.list(path)
            found |= self.list_trees(
                [child(path, n) for n in listing.names if n not in listing.files]
            )
        return found

    def delete_objects(self, path: str) -> None:
        """Delete what a directory has."""
        self.delete(path)


def _in_milliseconds(listing: Listing) -> Listing:
    files = {
        name: version._replace(modified=version.modified // 10**6)
        for name, version in listing.files.items()
    }
    return replace(listing, files=files)


class _Download(World):
    """World that was downloaded."""

    @property
    def files(self) -> LocalFiles:
        """File system of the tables, without Spark."""
        return DownloadedFiles()


@dataclass(frozen=True, slots=True)
class S3World(World):
    """World whose tables are on S3, below the name of its directory."""

    bucket: Bucket

    @property
    def _prefix(self) -> str:
        return f"{self.root.name}/"

    def location(self, name: str) -> str:
        """Return where a directory of the world is, for statements."""
        return f"s3a://{BUCKET}/{self._prefix}{name}"

    def land_file(self, name: str, content: bytes) -> None:
        """Make a file to load."""
        self.bucket.write(f"{self._prefix}land/{name}", content)

    def delete(self) -> None:
        """Delete everything."""
        World.delete(self)
        self.bucket.delete(self._prefix)

    def copy(self, root: Path) -> S3World:
        """Copy a world that is not in use."""
        made = S3World(root, self.bucket)
        self.bucket.copy(self._prefix, made._prefix)
        root.mkdir()
        self._copy_metastore(made.metastore, made.location(""))
        return made

    def state(self) -> State:
        """Read everything, as the next process finds it."""
        with self._downloaded() as world:
            return world.state()

    def left(self) -> list[str]:
        """Return what is not needed any more, in the metastore and on S3."""
        with closing(sqlite3.connect(self.metastore)) as connection:
            rows = connection.execute("SELECT operation FROM file_operations")
            found = [f"journal has {operation}" for (operation,) in rows]
        with self._downloaded() as world:
            found += world.left()
        found += self.clients()
        return found + [f"upload of {key}" for key in self.bucket.uploads(self._prefix)]

    @contextmanager
    def _downloaded(self) -> Iterator[World]:
        with TemporaryDirectory(prefix="acidsql-download-") as place:
            world = _Download(Path(place))
            world.land.mkdir()
            for key, content, modified in self._objects():
                path = world.root / key.removeprefix(self._prefix)
                if key.endswith("/"):
                    path.mkdir(parents=True, exist_ok=True)
                else:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
                    # A load deletes files of the version that it has loaded.
                    os.utime(path, ns=(modified * 10**6,) * 2)
            self._copy_metastore(world.metastore, f"file:{world.root}/")
            yield world

    def _objects(self) -> list[tuple[str, bytes, int]]:
        """Return key, content and time of modification of each object, as they are at one time.

        The JVM of a process that was killed deletes what it staged for a moment longer. If an
        object is gone since it was listed, all of them are listed again.
        """
        deadline = time.monotonic() + _PATIENCE
        while True:
            listed = self.bucket.modified(self._prefix)
            try:
                return [(key, self.bucket.read(key), when) for key, when in listed.items()]
            except self.bucket.client.exceptions.NoSuchKey:
                if time.monotonic() > deadline:
                    raise

    def _copy_metastore(self, target: Path, location: str) -> None:
        """Copy the metastore, as that of the same tables in another place."""
        with (
            closing(sqlite3.connect(self.metastore)) as source,
            closing(sqlite3.connect(target)) as connection,
        ):
            source.backup(connection)
            with connection:
                for place in (*PLACES, "file_operations.operation"):
                    table, _, column = place.partition(".")
                    connection.execute(
                        f"UPDATE {table} SET {column} = replace({column}, ?, ?)",
                        (self.location(""), location),
                    )


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Site(Site):
    """Bucket of a server."""

    bucket: Bucket

    def world(self, root: Path) -> World:
        """Return an empty world."""
        return S3World(root, self.bucket)


@contextmanager
def s3_site() -> Iterator[Site]:
    """Run a server within the block."""
    with opened(least_part=1) as store:
        settings = {f"spark.hadoop.{key}": value for key, value in store.settings().items()}
        settings["spark.driver.extraClassPath"] = class_path()
        yield S3Site(family=NAME, filesystem=S3, settings=settings, least_part=1, bucket=store)


def run(options: Options) -> Iterator[Fault]:
    """Do the shots of as many seeds."""
    with s3_site() as site, campaign(options.home, site) as made:
        for seed in range(options.seed, options.seed + options.count):
            yield made.fault(seed)


FAMILY = Family(
    name=NAME,
    summary="the same with the tables on S3, also within uploads",
    run=run,
    needed=cells(S3),
    is_local=False,
)
