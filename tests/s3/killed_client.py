"""Client that is killed within an upload: its input is a JSON.

It attaches to the JVM of another process, so that only its own process ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from unittest.mock import patch

import acidsql
from acidsql.bridge import s3_uploads
from tests.faults.kill_worker import attached


def main() -> None:
    """Run a statement, and die when all parts of its first upload are there."""
    given = json.load(sys.stdin)
    spark = attached(given["port"], given["secret"])
    for key, value in given["settings"].items():
        spark.conf.set(key, value)

    def die(_: s3_uploads.Multipart2) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with patch.object(s3_uploads.Multipart2, "complete", die):
        acidsql.sql(spark, given["text"])


if __name__ == "__main__":
    main()
