"""Run a Hive Metastore until Ctrl-C: ``python -m tests.metastore.server [VERSION]``.

Prints its URI. What it keeps is in a temporary directory.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from tests.metastore.server import launcher


def main(version: str) -> None:
    """Run a server with an empty metastore."""
    with (
        tempfile.TemporaryDirectory(prefix="metastore-") as home,
        launcher.running(version, Path(home)) as server,
    ):
        print(server.uri, flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:] or launcher.VERSIONS[:1])
