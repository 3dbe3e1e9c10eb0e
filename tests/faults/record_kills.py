"""Command that counts anew how often each statement reaches each step.

``python -m tests.faults.record_kills``; what it counts (``kill_steps.json``) are the cells that a
whole campaign must hit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.faults.kill_steps import record
from tests.faults.kills import count_steps

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="acidsql-kills-") as home:
        record(count_steps(Path(home)))
