"""File in a table's directory that says which metastore and table the directory belongs to.

An embedded metastore's file is not found from a table's directory. So two metastores could each
give the same write ids for it, and clean away each other's rows. A Hive Metastore is the table's
only one.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Protocol

from acidsql.errors import AcidAnalysisError
from acidsql.format.names import OWNER_FILE
from acidsql.format.paths import child
from acidsql.metastore.model import Table, TableOwner
from acidsql.metastore.protocol import Metastore
from acidsql.storage.sync import Disk, sync

# Seconds before each attempt to claim a directory.
_PAUSES = (0.0, 0.05, 0.25, 1.0)


class ClaimFiles(Disk, Protocol):
    """Files that claims are read from and written to."""

    def read(self, path: str) -> bytes:
        """Return the content of a file."""

    def write(self, path: str, content: bytes) -> None:
        """Create a file, with its parent directories; it must not exist."""


class Writer(Protocol):
    """Writer to the tables of a metastore: an ``AcidSession`` or a streaming connection."""

    @property
    def metastore(self) -> Metastore:
        """The metastore."""

    @property
    def files(self) -> ClaimFiles:
        """File system of the tables."""

    @property
    def owned_places(self) -> set[str]:
        """Directories of tables that are known to belong to the metastore."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """Content of the file.

    Attributes:
        owner: of the directory.
        location: of the directory when the file was written. In a copy of the directory, or after
            it was moved, it is another one: then the claim is about another directory.
    """

    owner: TableOwner
    location: str


def check_owner(session: Writer, table: Table) -> None:
    """Check that a table's directory belongs to it, once for a place and session.

    Raises:
        AcidAnalysisError: TABLE_OF_ANOTHER_METASTORE.
    """
    if not table.location or table.location in session.owned_places:
        return
    owner = session.metastore.table_owner(table.database, table.name)
    if owner is not None and not _claim(
        session, table, _Claim(owner=owner, location=_real(session, table.location))
    ):
        return
    session.owned_places.add(table.location)


def _claim(session: Writer, table: Table, mine: _Claim) -> bool:
    """Have the claim of a table in its directory; return False if there is no directory.

    A file that cannot be read may be in the making, by another process of the same table. Only
    after some time it is taken for that of a killed process, and replaced.

    Raises:
        AcidAnalysisError: TABLE_OF_ANOTHER_METASTORE.
    """
    for pause in _PAUSES:
        time.sleep(pause)
        found = _read(session, table.location)
        if found == mine:
            return True
        if found is not None and _is_of_another(session, found, mine):
            raise _another(table.location, found)
        if not session.files.exists(table.location):
            return False  # it is gone, and must not be taken for an empty one
        if found is not None or pause == _PAUSES[-1]:
            session.files.delete(child(table.location, OWNER_FILE))
        try:
            _write(session, table.location, mine)
        except OSError:
            if pause == _PAUSES[-1]:
                raise
        else:
            _check_is_still(session, table, mine)
            return True
    raise AssertionError("the last attempt returns or raises")


class Ownership(Enum):
    """Answer to the question whom a table's directory belongs to, by the file in it."""

    # This table, or no table yet: then the next statement that writes claims the directory.
    OWN = "own"
    OTHER = "another table or metastore"
    DAMAGED = "the file cannot be read"


def ownership(session: Writer, table: Table) -> Ownership:
    """Return whom a table's directory belongs to, and change nothing."""
    owner = session.metastore.table_owner(table.database, table.name)
    if owner is None or not session.files.exists(child(table.location, OWNER_FILE)):
        return Ownership.OWN
    found = _read(session, table.location)
    if found is None:
        return Ownership.DAMAGED
    mine = _Claim(owner=owner, location=_real(session, table.location))
    return Ownership.OTHER if _is_of_another(session, found, mine) else Ownership.OWN


def check_unowned(session: Writer, location: str) -> None:
    """Check that the directory of a new table belongs to no other one, and lies in none.

    Raises:
        AcidAnalysisError: TABLE_OF_ANOTHER_METASTORE.
    """
    session.owned_places.discard(location)
    found = _claimed_above(session, location)
    if found is not None and not session.metastore.has_dropped(found.owner):
        raise _another(location, found)


def check_partition(session: Writer, table: Table, location: str) -> None:
    """Check that a partition's directory does not lie in another table, once for a place and
    session.

    A symbolic link may lead there; an object store has none.

    Raises:
        AcidAnalysisError: TABLE_OF_ANOTHER_METASTORE.
    """
    is_below = location.startswith(f"{table.location}/")
    in_store = session.files.object_store(location) is not None
    if location in session.owned_places or (is_below and in_store):
        return
    found = _claimed_above(session, location)
    if found is not None and found.location != _real(session, table.location):
        raise _another(location, found)
    session.owned_places.add(location)


def _is_of_another(session: Writer, found: _Claim, mine: _Claim) -> bool:
    """Return whether a claim contradicts another one, and its table is not dropped."""
    return _contradicts(found, mine) and not session.metastore.has_dropped(found.owner)


def _contradicts(found: _Claim, mine: _Claim) -> bool:
    """Return whether a claim is about the same directory, and by another metastore or table.

    A metastore's file that was moved keeps its id. If there is another one at its old place, one of
    them is a copy.
    """
    if found.location != mine.location:
        return False
    if (found.owner.metastore_id, found.owner.table_id) != (
        mine.owner.metastore_id,
        mine.owner.table_id,
    ):
        return True
    return os.path.exists(found.owner.file) and not os.path.samefile(  # noqa: PTH110, PTH121
        found.owner.file, mine.owner.file
    )


def _another(location: str, found: _Claim) -> AcidAnalysisError:
    return AcidAnalysisError(
        "TABLE_OF_ANOTHER_METASTORE",
        f"{location} belongs to table {found.owner.table_id} of the metastore {found.owner.file} "
        f"(see {child(location, OWNER_FILE)}): use that metastore, by spark.acidsql.metastore. If "
        "it is lost or its table is gone, delete that file; everything in the directory then "
        "counts as committed",
    )


def _claimed_above(session: Writer, location: str) -> _Claim | None:
    """Return the claim on a directory or, on this machine, on one above it."""
    local = session.files.local(location)
    places = [location]
    if local is not None:
        real = local.resolve()
        places = [f"file:{place}" for place in (real, *real.parents)]
    for place in places:
        found = _read(session, place)
        if found is not None and found.location == _real(session, place):
            return found
    return None


def _real(session: Writer, location: str) -> str:
    """Return a directory's own path, without symbolic links."""
    local = session.files.local(location)
    return location if local is None else str(local.resolve())


def _read(session: Writer, location: str) -> _Claim | None:
    """Read the claim on a directory; None if there is none, or it is damaged."""
    path = child(location, OWNER_FILE)
    if not session.files.exists(path):
        return None
    try:
        content = json.loads(session.files.read(path))
        return _Claim(owner=TableOwner(**content["owner"]), location=content["location"])
    except (ValueError, KeyError, TypeError):
        return None


def _write(session: Writer, location: str, claim: _Claim) -> None:
    path = child(location, OWNER_FILE)
    session.files.write(path, json.dumps(asdict(claim)).encode())
    sync(session.files, [path], [location])


def _check_is_still(session: Writer, table: Table, written: _Claim) -> None:
    """Take a claim back that came too late: the table was dropped, with its directory.

    Raises:
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND, there is no other table of its name.
    """
    if session.metastore.has_dropped(written.owner):
        if _read(session, table.location) == written:
            session.files.delete(child(table.location, OWNER_FILE))
            session.files.delete_if_empty(table.location)
        session.metastore.table(table.database, table.name)
