"""Export of a statement's rows to a program, a file or a pipe, while the rows arrive."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice

from pyspark.sql import DataFrame

from acidsql.repl.machine_formats import lines
from acidsql.repl.output import Output
from acidsql.repl.rendering import for_programs, forms_of
from acidsql.repl.runner import Progress, rows_of

# Number of lines in one write.
_LINES = 1000


class Export:
    """Export of one result, which has only one partition of the result in memory at a time.

    Attributes:
        rows: number of rows that were written.
    """

    def __init__(
        self,
        output: Output,
        *,
        format_name: str,
        limit: int | None,
        pager: str | None,
        progress: Progress | None,
    ) -> None:
        self.rows = 0
        self._output = output
        self._format = format_name
        self._limit = limit
        self._pager = pager
        self._progress = progress
        self._stopped = threading.Event()

    def write(self, frame: DataFrame) -> int:
        """Write the rows of a frame, and return their number.

        Raises:
            OSError: writing to the output failed.
        """
        columns = tuple(frame.columns)
        if columns:
            rows = rows_of(for_programs(frame), self._limit)
            text_lines = lines(columns, forms_of(frame), rows, self._format)
            # In the other formats, the first line contains the column names.
            self.rows = 0 if self._format == "jsonl" else -1
            self._output.write_all(self._chunks(text_lines), self._pager)
        return self.rows

    def stop(self) -> None:
        """Stop writing, even if the statement continues."""
        self._stopped.set()

    def _chunks(self, text_lines: Iterator[str]) -> Iterator[str]:
        while chunk := list(islice(text_lines, _LINES)):
            if self._stopped.is_set():
                return
            if self._progress is not None and self._output.columns is not None:
                self._progress.clear()  # otherwise it would appear between the rows
            yield "".join(chunk)
            self.rows += len(chunk)
