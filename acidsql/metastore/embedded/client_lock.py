"""File locks that show the clients of a metastore file which other clients have ended.

Each client has a file next to the metastore's file, and holds an flock on it. The operating system
releases the lock when the process ends for any reason, also across containers. A suspended client
keeps its lock, and its transactions end by their time-out.
"""

from __future__ import annotations

import fcntl
import os
import uuid
import weakref
from collections.abc import Container
from pathlib import Path

from acidsql.errors import MetastoreError

_INFIX = "-client-"


class ClientLock:
    """Lock of a client, which takes it when its name is first requested.

    A forked child is another client.

    Args:
        metastore: path of the metastore's file.
    """

    def __init__(self, metastore: str) -> None:
        # SQLite also puts its files next to the target of a symbolic link.
        self._metastore = Path(metastore).resolve()
        self._name: str | None = None
        self._descriptor = -1
        _locks.add(self)

    @property
    def is_held(self) -> bool:
        """Whether the lock has been taken."""
        return self._name is not None

    def name(self) -> str:
        """Return the name of this client, and hold its lock until ``release``.

        Raises:
            MetastoreError: METASTORE_UNAVAILABLE, no file can be created.
        """
        while self._name is None:
            name = uuid.uuid4().hex
            path = self._file(name)
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
            except OSError as err:
                raise MetastoreError(
                    "METASTORE_UNAVAILABLE",
                    f"no file can be made beside the metastore file {str(self._metastore)!r}: "
                    f"{err}; check the permissions and the free space",
                ) from err
            # Another client may have locked or deleted it already, as the file of an ended client.
            if _lock(descriptor) and _is_at(descriptor, path):
                self._name, self._descriptor = name, descriptor
            else:
                os.close(descriptor)
        return self._name

    def has_ended(self, client: str) -> bool:
        """Return whether a client has ended; False if this cannot be determined."""
        return client != self._name and _is_free(self._file(client))

    def forget_ended(self, but: Container[str]) -> None:
        """Delete the files of all clients that have ended, except the clients in ``but``."""
        for path in self._metastore.parent.glob(f"{self._metastore.name}{_INFIX}*"):
            if path.name.rpartition("-")[2] not in but and _is_free(path):
                path.unlink(missing_ok=True)

    def release(self, *, forget: bool) -> None:
        """Release the lock, so that other clients see that this client has ended.

        Args:
            forget: whether to delete its file as well, because no other client needs it.
        """
        name, self._name = self._name, None
        if name is not None:
            if forget:
                self._file(name).unlink(missing_ok=True)
            os.close(self._descriptor)

    def _file(self, client: str) -> Path:
        return self._metastore.with_name(f"{self._metastore.name}{_INFIX}{client}")

    def _leave_to_parent(self) -> None:
        """Close a forked child's copy of the lock, which would outlive the parent process."""
        name, self._name = self._name, None
        if name is not None:
            os.close(self._descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_free(path: Path) -> bool:
    """Return whether a file exists and no process holds its lock."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, PermissionError):
        return False
    try:
        return _lock(descriptor)
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


_locks: weakref.WeakSet[ClientLock] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for lock in list(_locks):
        lock._leave_to_parent()


os.register_at_fork(after_in_child=_after_fork_in_child)
