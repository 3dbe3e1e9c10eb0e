"""Tests of files on file systems that only append: whatever fails, what readers see is whole."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyorc
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.format.bucket_codec import encode
from acidsql.storage.local_files import LocalFiles
from acidsql.streaming.bucket_file import BucketFile, insert_events
from acidsql.streaming.files import StreamingFiles
from tests.streaming.committed_rows import complete


class AppendingFiles(LocalFiles):
    """Files that end where HDFS' would: a write that fails may leave any part of its content, and
    nothing is overwritten.
    """

    def __init__(self, failures: list[tuple[int, float] | None]) -> None:
        super().__init__(synchronous=False)
        self.failures = failures

    def append(self, path: str, content: bytes, offset: int, *, sync: bool = False) -> None:
        del sync
        failure = self.failures.pop(0) if self.failures else None
        kept = len(content) if failure is None else int(len(content) * failure[1])
        with self._required(path).open("ab") as stream:
            stream.write(content[:kept])
        if failure is not None:
            raise TimeoutError("the data node did not answer")
        assert self.size(path) == offset + len(content)


# Of each write: whether it fails, and how much of it is in the file then.
writes = st.one_of(st.none(), st.tuples(st.just(1), st.floats(0, 1)))
# Parts of each transaction, and whether it commits.
transactions = st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=5)


@settings(max_examples=80)
@given(transactions, st.lists(writes, max_size=12))
def test_readers_see_whole_files_whatever_writes_fail(
    history: list[tuple[int, bool]], failures: list[tuple[int, float] | None]
) -> None:
    with TemporaryDirectory() as home:
        path = Path(home) / "bucket_00000"
        local = AppendingFiles(failures)
        file = BucketFile(StreamingFiles(local), f"file:{path}", codec="zlib", has_side_file=True)
        committed: list[int] = []
        for write_id, (parts, commits) in enumerate(history, start=1):
            try:
                for part in range(parts):
                    file.append(_events(write_id, part))
                if commits and parts:
                    file.flush()
                    committed += [write_id] * parts
                else:
                    file.discard()
            except TimeoutError:
                file.discard()  # its transaction is aborted, and the batch ends
                break
            assert _write_ids(path, set(committed)) == committed
        assert _write_ids(path, set(committed)) == committed
        local.failures = local.failures[:1]
        try:
            file.close()
        except TimeoutError:
            assert path.with_name("bucket_00000_flush_length").exists()
            assert _write_ids(path, set(committed)) == committed
            file.close()
        assert not path.with_name("bucket_00000_flush_length").exists()
        if path.exists():
            assert _write_ids(path, set(committed)) == committed
        else:
            assert committed == []


def _events(write_id: int, row_id: int) -> pa.Table:
    return insert_events(pa.table({"n": [row_id]}), write_id, encode(0), row_id)


def _write_ids(path: Path, committed: set[int]) -> list[int]:
    """Return the write ids of the rows that readers see, of only committed transactions."""
    content = complete(path)
    rows = pyorc.Reader(BytesIO(content)) if content else ()
    return [row[1] for row in rows if row[1] in committed]
