"""Check that the rows of a bucketed table are in the bucket of their hash."""

from __future__ import annotations

from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.checking.problems import Problem, RowId
from acidsql.checking.survey import Survey
from acidsql.format.bucket_codec import decode_bucket_sql
from acidsql.scan.plan import scan
from acidsql.scan.record import ScanRecord
from acidsql.scan.snapshot import take_snapshot
from acidsql.schema.acid_file import ROW_ID_COLUMN
from acidsql.session.acid_session import AcidSession
from acidsql.storage.bucketing import bucket_id
from acidsql.syntax.lexer import quote


def look_into_buckets(session: AcidSession, survey: Survey) -> None:
    """Find rows that are not in the bucket that the hash of their columns selects.

    The table must not have other errors, because this function reads it like a query.
    """
    table, spark = survey.table, session.spark
    hashed = [c for c in table.columns if c.name in table.bucket_columns]
    if not all(bridge.can_hash(bridge.parse_type(spark, c.type)) for c in hashed):
        return
    snapshot = take_snapshot(
        session.files,
        session.metastore,
        table,
        survey.txns,
        survey.listings,
        [place.partition.values for place in survey.places] if table.partition_columns else None,
        (survey.write_ids, survey.txns),
    )
    rows = scan(session, ScanRecord(snapshot=snapshot)).frame()
    values = [F.col(quote(column.name)) for column in table.columns]
    expected = bucket_id(spark, table, values)
    actual = F.expr(decode_bucket_sql(f"{ROW_ID_COLUMN}.bucketid"))
    wrong = rows.where(expected != actual)
    with bridge.job_errors():
        counted = wrong.agg(F.count("*").alias("rows"), F.min(ROW_ID_COLUMN).alias("first")).first()
    if counted is not None and counted["rows"]:
        survey.problems.append(
            Problem(
                name="ROW_IN_WRONG_BUCKET",
                path=table.location,
                detail=f"{counted['rows']} rows are not in the bucket of their hash code",
                row_id=RowId(*counted["first"]),
            )
        )
