"""Files that Spark's writers have staged for an insert-only table, by directory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from acidsql.format.partitions import unescape
from acidsql.storage.filesystem import FileSystem, child
from acidsql.storage.staging import PART, TARGET
from acidsql.storage.staging_place import StagingPlace, files_of_jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedDirectory:
    """Staged directory: the name of its target, the values of its partition, its files.

    Attributes:
        sizes: sizes in bytes by file name, if known.
    """

    target: str
    values: tuple[str, ...]
    path: str
    files: tuple[str, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)


def staged_directories(files: FileSystem, staging: StagingPlace) -> list[StagedDirectory]:
    """Find the staged directories."""
    if staging.local is None:
        return _listed(files, staging.path)
    return directories_of(staging.path, {f.path: f.size for f in files_of_jobs(staging)})


def directories_of(staging: str, sizes: Mapping[str, int]) -> list[StagedDirectory]:
    """Group staged files by their directories.

    Args:
        staging: the staging directory.
        sizes: sizes of files at any depth below it, by path.
    """
    sizes_by_directory: dict[str, dict[str, int]] = defaultdict(dict)
    for path, size in sorted(sizes.items()):
        above, _, name = path.rpartition("/")
        sizes_by_directory[above][name] = size
    directories = []
    for path, file_sizes in sizes_by_directory.items():
        target, *values = (
            part.partition("=")[2] for part in path.removeprefix(f"{staging}/").split("/")
        )
        directories.append(
            StagedDirectory(
                target=target,
                values=tuple(unescape(value) for value in values),
                path=path,
                files=tuple(file_sizes),
                sizes=file_sizes,
            )
        )
    return directories


def _listed(files: FileSystem, staging: str) -> list[StagedDirectory]:
    """Find staged directories by listing them."""
    directories: list[StagedDirectory] = []

    def walk(path: str, target: str, values: tuple[str, ...]) -> None:
        names = files.names(path)
        parts = _parts(names)
        if parts:
            directories.append(
                StagedDirectory(target=target, values=values, path=path, files=parts)
            )
        for name in names:
            if name.startswith(f"{TARGET}="):
                walk(child(path, name), name[len(TARGET) + 1 :], ())
            elif name.startswith(PART):
                walk(child(path, name), target, (*values, unescape(name.partition("=")[2])))

    walk(staging, "", ())
    return directories


def _parts(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the files that Spark's tasks wrote."""
    return tuple(name for name in names if name.startswith("part-"))
