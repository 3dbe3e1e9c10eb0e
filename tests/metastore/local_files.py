"""Local file system without Spark, and the session of programs that need no more."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

from acidsql.metastore.protocol import Metastore
from acidsql.session.acid_session import AcidSession
from acidsql.session.heartbeat import Heartbeater
from acidsql.storage.filesystem import FileSystem
from acidsql.storage.sync import sync


class LocalFiles(FileSystem):
    """File system of ``file:`` paths, which need nothing of Spark; a metastore can use it, too.

    Args:
        synchronous: whether it syncs; most tests end no machine.
    """

    def __init__(self, *, synchronous: bool = False) -> None:
        """Need no session."""
        self.synchronous = synchronous

    def qualify(self, path: str) -> str:
        """Return the path as it is: tests give qualified ones."""
        return path

    def is_object_store(self, path: str) -> bool:
        """Return whether a path is of S3; tests of what is planned there write nothing."""
        return path.startswith("s3a:")

    def sync_names(self, directories: Sequence[str]) -> None:
        """Sync the names in directories."""
        sync(self, directories=directories)


def session_without_spark(
    metastore: Metastore, files: FileSystem, lock_timeout: float = 0.0
) -> AcidSession:
    """Return what transactions, compactions and the cleaner need of a session.

    A transaction starts its heartbeater.
    """
    return cast(
        "AcidSession",
        SimpleNamespace(
            # Its settings have their defaults.
            spark=SimpleNamespace(conf=SimpleNamespace(get=lambda _, default: default)),
            metastore=metastore,
            heartbeater=Heartbeater(metastore),
            user="ann",
            host="host",
            files=files,
            settings=SimpleNamespace(metastore="here", lock_timeout=lock_timeout),
            learnt_places=set(),
            owned_places=set(),
            has_written=False,
            interrupted=threading.Event(),
            is_ending=False,
            leases=SimpleNamespace(
                prune=lambda *, collect: None,  # noqa: ARG005
                txn_ids=(),
            ),
        ),
    )
