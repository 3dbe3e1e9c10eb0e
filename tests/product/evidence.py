"""What Spark did, and what it left in the files of a table."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from acidsql.format.bucket_codec import decode_bucket

if TYPE_CHECKING:
    from tests.product.conftest import AcidFile, Lab


def sorted_files(lab: Lab, table: str) -> dict[str, AcidFile]:
    """The files of a table, each sorted by its key, its index right, in the bucket of its name."""
    files = lab.files(table)
    for path, file in files.items():
        assert all(a < b for a, b in pairwise(file.keys)), path
        assert file.metadata["hive.acid.key.index"] == file.expected_key_index, path
        assert {decode_bucket(bucket) for _, bucket, _ in file.keys} == {int(path[-5:])}, path
    return files


def last_execution(lab: Lab) -> int:
    """The number of the newest query that Spark keeps the plan of."""
    found = lab.spark._jsparkSession.sharedState().statusStore().executionsList()
    return max(int(found.apply(i).executionId()) for i in range(found.size()))


def plans_since(lab: Lab, last: int) -> list[str]:
    """The physical plans of the queries after one."""
    lab.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    found = lab.spark._jsparkSession.sharedState().statusStore().executionsList()
    kept = [found.apply(i) for i in range(found.size())]
    return [query.physicalPlanDescription() for query in kept if query.executionId() > last]
