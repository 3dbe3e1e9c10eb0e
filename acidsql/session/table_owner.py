"""File in a table's directory that names the metastore and the table that own the directory.

A table's directory does not show which embedded metastore it belongs to. Without this file, two
metastores could issue the same write ids for a directory and remove each other's rows. A Hive
Metastore does not need the file, because the table has no other metastore.
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
    """File system that claims are read from and written to."""

    def read(self, path: str) -> bytes:
        """Return the content of a file."""

    def write(self, path: str, content: bytes) -> None:
        """Create a file and its parent directories; the file must not exist."""


class TableWriter(Protocol):
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
        owner: owner of the directory.
        location: location of the directory when the file was written. In a copied or moved
            directory it differs from the current location, and the claim does not apply.
    """

    owner: TableOwner
    location: str


def check_owner(session: TableWriter, table: Table) -> None:
    """Check that a table's directory belongs to it, once per directory and session.

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


def _claim(session: TableWriter, table: Table, mine: _Claim) -> bool:
    """Ensure that a table's directory has the claim; return False if there is no directory.

    Another process of the same table may just be writing a file that cannot be read. If the file
    stays unreadable, the process was killed, and the file is replaced.

    Raises:
        AcidAnalysisError: TABLE_OF_ANOTHER_METASTORE.
    """
    for pause in _PAUSES:
        time.sleep(pause)
        claim = _read(session, table.location)
        if claim == mine:
            return True
        if claim is not None and _is_of_another(session, claim, mine):
            raise _another(table.location, claim)
        if not session.files.exists(table.location):
            return False  # a missing directory must not be treated as an empty one
        if claim is not None or pause == _PAUSES[-1]:
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
    """Owner of a table's directory, according to the file in it."""

    # This table, or no table yet; then the next statement that writes claims the directory.
    OWN = "own"
    OTHER = "another table or metastore"
    DAMAGED = "the file cannot be read"


def ownership(session: TableWriter, table: Table) -> Ownership:
    """Return the owner of a table's directory, without changing anything."""
    owner = session.metastore.table_owner(table.database, table.name)
    if owner is None or not session.files.exists(child(table.location, OWNER_FILE)):
        return Ownership.OWN
    claim = _read(session, table.location)
    if claim is None:
        return Ownership.DAMAGED
    mine = _Claim(owner=owner, location=_real(session, table.location))
    return Ownership.OTHER if _is_of_another(session, claim, mine) else Ownership.OWN


def check_unowned(session: TableWriter, location: str) -> None:
    """Check that the directory of a new table does not belong to another table.

    It must not be inside the directory of another table either.

    Raises:
        AcidAnalysisError: TABLE_OF_ANOTHER_METASTORE.
    """
    session.owned_places.discard(location)
    claim = _claimed_above(session, location)
    if claim is not None and not session.metastore.has_dropped(claim.owner):
        raise _another(location, claim)


def check_partition(session: TableWriter, table: Table, location: str) -> None:
    """Check that a partition's directory is not in another table, once per directory and session.

    A symbolic link may lead there. Object stores have no symbolic links.

    Raises:
        AcidAnalysisError: TABLE_OF_ANOTHER_METASTORE.
    """
    is_below = location.startswith(f"{table.location}/")
    in_store = session.files.object_store(location) is not None
    if location in session.owned_places or (is_below and in_store):
        return
    claim = _claimed_above(session, location)
    if claim is not None and claim.location != _real(session, table.location):
        raise _another(location, claim)
    session.owned_places.add(location)


def _is_of_another(session: TableWriter, claim: _Claim, mine: _Claim) -> bool:
    """Return whether a claim contradicts ``mine``, and its table has not been dropped."""
    return _contradicts(claim, mine) and not session.metastore.has_dropped(claim.owner)


def _contradicts(claim: _Claim, mine: _Claim) -> bool:
    """Return whether another metastore or table claims the same directory.

    A metastore file keeps its id when it is moved. If a different file exists at its old path, one
    of the two files is a copy.
    """
    if claim.location != mine.location:
        return False
    if (claim.owner.metastore_id, claim.owner.table_id) != (
        mine.owner.metastore_id,
        mine.owner.table_id,
    ):
        return True
    return os.path.exists(claim.owner.file) and not os.path.samefile(  # noqa: PTH110, PTH121
        claim.owner.file, mine.owner.file
    )


def _another(location: str, claim: _Claim) -> AcidAnalysisError:
    return AcidAnalysisError(
        "TABLE_OF_ANOTHER_METASTORE",
        f"{location} belongs to table {claim.owner.table_id} of the metastore {claim.owner.file} "
        f"(see {child(location, OWNER_FILE)}): use that metastore, by spark.acidsql.metastore. If "
        "it is lost or its table is gone, delete that file; everything in the directory then "
        "counts as committed",
    )


def _claimed_above(session: TableWriter, location: str) -> _Claim | None:
    """Return the claim on a directory or, on a local disk, on a directory above it."""
    local = session.files.local(location)
    places = [location]
    if local is not None:
        real = local.resolve()
        places = [f"file:{place}" for place in (real, *real.parents)]
    for place in places:
        claim = _read(session, place)
        if claim is not None and claim.location == _real(session, place):
            return claim
    return None


def _real(session: TableWriter, location: str) -> str:
    """Return the path of a directory without symbolic links."""
    local = session.files.local(location)
    return location if local is None else str(local.resolve())


def _read(session: TableWriter, location: str) -> _Claim | None:
    """Read the claim on a directory; return None if it is missing or damaged."""
    path = child(location, OWNER_FILE)
    if not session.files.exists(path):
        return None
    try:
        content = json.loads(session.files.read(path))
        return _Claim(owner=TableOwner(**content["owner"]), location=content["location"])
    except (ValueError, KeyError, TypeError):
        return None


def _write(session: TableWriter, location: str, claim: _Claim) -> None:
    path = child(location, OWNER_FILE)
    session.files.write(path, json.dumps(asdict(claim)).encode())
    sync(session.files, [path], [location])


def _check_is_still(session: TableWriter, table: Table, written: _Claim) -> None:
    """Remove a claim again if the table was dropped with its directory in the meantime.

    Raises:
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND, there is no new table with its name.
    """
    if session.metastore.has_dropped(written.owner):
        if _read(session, table.location) == written:
            session.files.delete(child(table.location, OWNER_FILE))
            session.files.delete_if_empty(table.location)
        session.metastore.table(table.database, table.name)
