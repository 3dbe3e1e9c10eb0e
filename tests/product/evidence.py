"""Evidence of what Spark did: its plans, and the files of a table."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from acidsql.format.bucket_codec import decode_bucket

if TYPE_CHECKING:
    from tests.product.conftest import AcidFile, Lab


def sorted_files(lab: Lab, table: str) -> dict[str, AcidFile]:
    """Return the files of a table; check their order, their key index and their bucket."""
    files = lab.files(table)
    for path, file in files.items():
        assert all(a < b for a, b in pairwise(file.keys)), path
        assert file.metadata["hive.acid.key.index"] == file.expected_key_index, path
        assert {decode_bucket(bucket) for _, bucket, _ in file.keys} == {int(path[-5:])}, path
    return files


def last_execution(lab: Lab) -> int:
    """Return the number of the newest query whose plan Spark keeps."""
    found = lab.spark._jsparkSession.sharedState().statusStore().executionsList()
    return max(int(found.apply(i).executionId()) for i in range(found.size()))


def plans_since(lab: Lab, last: int) -> list[str]:
    """Return the physical plans of the queries after ``last``."""
    lab.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    found = lab.spark._jsparkSession.sharedState().statusStore().executionsList()
    kept = [found.apply(i) for i in range(found.size())]
    return [query.physicalPlanDescription() for query in kept if query.executionId() > last]
