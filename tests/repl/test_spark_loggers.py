"""Tests of the loggers that report Spark's errors, which the shell and the magics silence."""

from __future__ import annotations

import io
import logging
import subprocess
import sys

from acidsql.repl.session import error_loggers, silence


def test_loggers_take_pysparks_arguments_afterwards() -> None:
    """Check in a process where PySpark has made no logger yet."""
    program = (
        "import logging\n"
        "from acidsql.repl.session import error_loggers\n"
        "for logger in error_loggers():\n"
        "    logger.error('failed', errorClass='X', exc_info=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "TypeError" in done.stderr) == (0, False), done.stderr


def test_a_silenced_logger_writes_nothing() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    for logger in error_loggers():
        level = logger.level
        logger.addHandler(handler)
        try:
            silence(logger)
            logger.critical("not seen")
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
    assert stream.getvalue() == ""
