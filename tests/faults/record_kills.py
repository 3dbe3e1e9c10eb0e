"""Command that counts again how often each statement reaches each step.

``python -m tests.faults.record_kills [s3]``; what it counts (``kill_steps.json``,
``kill_steps_s3.json``) are the cells that a whole campaign must hit.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.faults.kill_steps import S3, record
from tests.faults.kills import count_steps
from tests.faults.s3_kills import s3_site

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="acidsql-kills-") as home:
        if sys.argv[1:] == [S3]:
            with s3_site() as site:
                record(count_steps(Path(home), site), S3)
        else:
            record(count_steps(Path(home)))
