"""Files of object stores, which cannot be appended to, or are copied when they are renamed.

A file is written at its final place with its whole content. No reader reads its directory before
the transaction commits. Object stores have no directories: a path is a directory if there are files
below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.bridge import object_files
from acidsql.format.paths import parent
from acidsql.storage.directory import Listing, by_store, child, listing_of, listings_of, store_of
from acidsql.storage.local_disk import is_local
from acidsql.storage.parallel import in_parallel

# Hadoop's CommonPathCapabilities.
APPEND, ACLS = "fs.capability.paths.append", "fs.capability.paths.acls"
# Schemes of Azure's accounts, with and without a hierarchical namespace.
_AZURE = frozenset({"abfs", "abfss"})
# Largest number of objects that one request to S3 lists or deletes.
_DELETED_AT_ONCE = 1000


def is_written_whole(
    scheme: str, object_stores: Collection[str], has_capability: Callable[[str], bool]
) -> bool:
    """Return whether a store's files must be created with their final name and whole content.

    This is so if the store cannot append or its renames are copies. A store reports whether it can
    append. Whether renames are copies is known only from the scheme, except on Azure, where a
    capability shows it: an account without a hierarchical namespace has no ACLs, and renames
    directories file by file.

    Args:
        scheme: scheme of the store.
        object_stores: schemes of stores whose renames are copies.
        has_capability: returns whether the store has one of Hadoop's capabilities. It is called
            only if the scheme does not decide.
    """
    if scheme in object_stores or not has_capability(APPEND):
        return True
    return scheme in _AZURE and not has_capability(ACLS)


class WholeFile(NamedTuple):
    """File with its size in bytes."""

    path: str
    size: int


class ObjectStoreFiles:
    """Operations on paths of object stores.

    Args:
        spark: the session.
        object_stores: schemes of stores whose renames are copies.
    """

    def __init__(self, spark: SparkSession, object_stores: Collection[str]) -> None:
        self.spark = spark
        self._conf = bridge.hadoop_conf(spark)
        self._schemes = frozenset(object_stores)
        self._known: dict[str, bool] = {}
        self._reads_anew = False
        self._part_copiers: dict[str, bool] = {}
        self._bulk_deleters: dict[str, bool] = {}

    def hadoop_path(self, path: str) -> tuple[bridge.JavaObject, bridge.JavaObject]:
        """Return Hadoop's file system and path object."""
        self._prepare(path)
        return bridge.hadoop_path(self.spark, path, self._conf)

    def _prepare(self, path: str) -> None:
        """Set the options that the file system of a path needs, before it is created."""
        if path.startswith("s3a:") and not self._reads_anew:
            bridge.s3.read_anew(self.spark, self._conf)
            self._reads_anew = True

    def is_object_store(self, path: str) -> bool:
        """Return whether a path is on a store of whole files; each store is queried once."""
        if is_local(path):
            return False
        store = store_of(path)
        known = self._known.get(store)
        if known is None:
            ask = partial(self._has_capability, path)
            known = is_written_whole(store.partition(":")[0], self._schemes, ask)
            self._known[store] = known
        return known

    def _has_capability(self, path: str, capability: str) -> bool:
        return object_files.has_path_capability(*self.hadoop_path(path), capability)

    def object_store(self, path: str) -> ObjectStoreFiles | None:
        """Return these files if a path is on an object store, None otherwise."""
        return self if self.is_object_store(path) else None

    def complete(self, start: WholeFile, rest: bytes, target: str) -> None:
        """Write a file that consists of a staged file and more bytes.

        Only the caller's transaction may write to the directory. S3 copies the staged file on the
        server if its rules allow it.
        """
        source, written = self.hadoop_path(start.path), self.hadoop_path(target)
        is_long = start.size >= bridge.s3.LEAST_PART
        if is_long and store_of(start.path) == store_of(target) and self._copies_parts(target):
            files = written[0], source[1], start.size
            bridge.s3.copy_with_rest(self.spark, *files, rest, written[1])
        else:
            object_files.put_copy(self.spark, source, start.size, rest, written)

    def _copies_parts(self, path: str) -> bool:
        store = store_of(path)
        if store not in self._part_copiers:
            self._part_copiers[store] = bridge.s3.can_copy_parts(self.hadoop_path(path)[0])
        return self._part_copiers[store]

    def _deletes_many(self, path: str) -> bool:
        store = store_of(path)
        if store not in self._bulk_deleters:
            self._bulk_deleters[store] = bridge.s3.can_delete_many(self.hadoop_path(path)[0])
        return self._bulk_deleters[store]

    def uploads_below(self, path: str) -> Sequence[bridge.s3.Upload]:
        """Return the unfinished uploads to a directory.

        Only S3A reports them.
        """
        if not self.is_object_store(path):
            return ()
        return bridge.s3.uploads_below(*self.hadoop_path(path))

    def abort_upload(self, upload: bridge.s3.Upload) -> None:
        """Abort an upload; the store discards its parts."""
        bridge.s3.abort_upload(*self.hadoop_path(upload.path), upload.upload_id)

    def list_trees(self, paths: Collection[str]) -> Mapping[str, Listing]:
        """List everything below directories with few requests.

        Returns:
            Listings of the given directories and of all directories with files in or below them.
        """

        def tree(path: str) -> Mapping[str, Listing]:
            filesystem, java_path = self.hadoop_path(path)
            spelled = bridge.path_text(java_path)
            files = object_files.list_tree(self.spark, filesystem, java_path)
            # The file system may spell the paths differently, as viewfs does. The paths of the
            # listing do not match the requested path then.
            if files is None or not all(one.path.startswith(f"{spelled}/") for one in files):
                return self._walked(path)
            listings = listings_of(spelled, files)
            by_path = {path + name.removeprefix(spelled): one for name, one in listings.items()}
            return {name: replace(one, path=name) for name, one in by_path.items()}

        return {
            directory: listing
            for listed in in_parallel(tree, list(paths))
            for directory, listing in listed.items()
        }

    def delete_trees(self, paths: Sequence[str]) -> None:
        """Delete directories with their contents; missing directories are not an error.

        On S3 they are listed, and their files are deleted in bulk.
        """
        for group in by_store(paths).values():
            if self.is_object_store(group[0]) and self._deletes_many(group[0]):
                files = self._files_below(group)
                bridge.s3.delete_many(self.spark, self.hadoop_path(group[0])[0], files)
            else:
                for path in group:
                    self.delete(path)

    def _files_below(self, paths: Sequence[str]) -> list[str]:
        """Return the files in and below directories."""
        siblings = Counter(map(parent, paths))
        roots = {
            above if siblings[above] > 1 else path for path in paths for above in [parent(path)]
        }
        listed = self.list_trees(roots)
        wanted = tuple(f"{path}/" for path in paths)
        files = (child(one.path, name) for one in listed.values() for name in one.files)
        return [file for file in files if file.startswith(wanted)]

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with its contents; a missing path is not an error."""
        filesystem, java_path = self.hadoop_path(path)
        bridge.delete_path(filesystem, java_path)

    def _walked(self, path: str) -> Mapping[str, Listing]:
        """List a directory and all directories below it, one after the other."""
        entries = bridge.list_paths(self.spark, self.hadoop_path(path)[0], [path])
        listing = listing_of(path, entries)
        listings = {path: listing}
        for name in listing.names:
            if name not in listing.files:
                listings |= self._walked(child(path, name))
        return listings

    def delete_objects(self, path: str) -> None:
        """Delete the present files of a directory, but no files that are created later.

        Another process may finish the same deletion, and a new table may then be created in this
        place. Files that are newer than all files of the first listing belong to that table.
        """
        listed = self.list_trees([path])
        times = [version.modified for one in listed.values() for version in one.files.values()]
        newest = max(times, default=0)
        # One request deletes so many files, immediately after they were listed.
        is_one_request = len(times) <= _DELETED_AT_ONCE
        parts = [] if is_one_request else [child(path, name) for name in listed[path].names]
        for part in (*parts, path):
            if not self._delete_unless_newer(part, newest):
                return

    def _delete_unless_newer(self, directory: str, newest: int) -> bool:
        """Delete a directory; if it has newer files, keep it and return False."""
        now = self.list_trees([directory])
        files = (version for one in now.values() for version in one.files.values())
        if any(version.modified > newest for version in files):
            return False
        self.delete(directory)
        return True
