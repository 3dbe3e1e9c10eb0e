"""``df.write`` of enabled sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.readwriter import DataFrameWriter
from pyspark.sql.utils import to_str

from acidsql import api
from acidsql.commands import write_frame
from acidsql.commands.protect_acid_tables import refuse_location
from acidsql.commands.transactions import refuse_writing_of_spark
from acidsql.commands.write_frame import Replacing
from acidsql.enabled.routing import is_routed, name_parts, named, named_table, written
from acidsql.enabled.source_format import register_source
from acidsql.enabled.writer_settings import (
    WriterSettings,
    check_insert,
    check_replace,
    check_save,
    is_acid,
    makes_acid,
    new_table,
    refuse_table_of_spark,
)
from acidsql.metastore.model import Table
from acidsql.planning.name_resolution import already_exists, known_to_spark
from acidsql.session.acid_session import AcidSession

# File formats: their path is a directory of files.
_FILES = ("orc", "parquet", "csv", "json", "text", "xml", "avro")


class AcidDataFrameWriter(DataFrameWriter):  # type: ignore[misc]  # PySpark is untyped here
    """PySpark's writer, which also writes ACID tables and protects their directories."""

    def __init__(self, df: DataFrame) -> None:
        super().__init__(df)
        self._settings = WriterSettings()

    def _with_settings(self, **settings: Any) -> AcidDataFrameWriter:
        self._settings = replace(self._settings, **settings)
        return self

    def mode(self, saveMode: str | None) -> AcidDataFrameWriter:  # noqa: N803
        """See PySpark."""
        super().mode(saveMode)
        return self._with_settings(mode=saveMode.lower()) if saveMode else self

    def format(self, source: str) -> AcidDataFrameWriter:
        """See PySpark."""
        super().format(source)
        return self._with_settings(format=source)

    def option(self, key: str, value: Any) -> AcidDataFrameWriter:
        """See PySpark."""
        super().option(key, value)
        return self._with_options({key: value})

    def options(self, **options: Any) -> AcidDataFrameWriter:
        """See PySpark."""
        super().options(**options)
        return self._with_options(options)

    def _with_options(self, options: Mapping[str, Any]) -> AcidDataFrameWriter:
        texts = {key: to_str(value) for key, value in options.items() if value is not None}
        return self._with_settings(options={**self._settings.options, **texts})

    def partitionBy(self, *cols: str | list[str]) -> AcidDataFrameWriter:  # noqa: N802
        """See PySpark."""
        super().partitionBy(*cols)
        return self._with_settings(partitioned_by=_names(*cols))

    def bucketBy(  # noqa: N802
        self,
        numBuckets: int,  # noqa: N803
        col: str | list[str],
        *cols: str,
    ) -> AcidDataFrameWriter:
        """See PySpark."""
        super().bucketBy(numBuckets, col, *cols)
        return self._with_settings(buckets=numBuckets, bucketed_by=_names(col, *cols))

    def sortBy(self, col: str | list[str], *cols: str) -> AcidDataFrameWriter:  # noqa: N802
        """See PySpark."""
        super().sortBy(col, *cols)
        return self._with_settings(sorted_by=_names(col, *cols))

    def clusterBy(self, *cols: str | list[str]) -> AcidDataFrameWriter:  # noqa: N802
        """See PySpark."""
        super().clusterBy(*cols)
        return self._with_settings(clustered_by=_names(*cols))

    def insertInto(self, tableName: str, overwrite: bool | None = None) -> None:  # noqa: N802, N803
        """Insert into an ACID table by position, or overwrite it; Spark writes other tables."""
        if overwrite is not None:
            self.mode("overwrite" if overwrite else "append")
        if is_routed(self._spark):
            with api.working(self._spark) as session:
                table = written(named(session, tableName))
                if table is not None:
                    _insert_into(session, table, self._df, self._settings)
                    return
                refuse_writing_of_spark(session, "insertInto")
        super().insertInto(tableName)

    def saveAsTable(  # noqa: N802
        self,
        name: str,
        format: str | None = None,  # noqa: A002 - PySpark's name
        mode: str | None = None,
        partitionBy: str | list[str] | None = None,  # noqa: N803
        **options: Any,
    ) -> None:
        """Write to an ACID table with columns matched by name, or create an ACID table.

        A new table is an ACID table if ``transactional`` is an option, if the format is
        ``acidsql``, or if that is the session's default for a writer without a format. Spark writes
        all other tables.
        """
        self.mode(mode).options(**options)
        if partitionBy is not None:
            self.partitionBy(partitionBy)
        if format is not None:
            self.format(format)
        if is_routed(self._spark):
            with api.working(self._spark) as session:
                if _save_as_table(session, name, self._df, self._settings):
                    return
                refuse_writing_of_spark(session, "saveAsTable")
        self._refuse(self._settings.option("path"))
        super().saveAsTable(name)

    def save(
        self,
        path: str | None = None,
        format: str | None = None,  # noqa: A002 - PySpark's name
        mode: str | None = None,
        partitionBy: str | list[str] | None = None,  # noqa: N803
        **options: Any,
    ) -> None:
        """Write files as PySpark does, but refuse the directory of an ACID table.

        The format ``acidsql`` needs no ``acidsql.register``.

        Raises:
            AcidAnalysisError: LOCATION_IN_USE; see ``acidsql.register``.
        """
        if format is not None:
            self.format(format)
        self.options(**options)
        place = path if path is not None else self._settings.option("path")
        if (self._settings.format or "parquet").lower() in _FILES:
            self._refuse(place)
        register_source(self._spark, self._settings.format)
        super().save(path, None, mode, partitionBy)

    def _refuse(self, path: str | None) -> None:
        if path is not None and is_routed(self._spark):
            with api.working(self._spark) as session:
                refuse_location(session, path)

    def json(self, path: str, *args: Any, **kwargs: Any) -> None:
        """See ``save``."""
        self._refuse(path)
        super().json(path, *args, **kwargs)

    def parquet(self, path: str, *args: Any, **kwargs: Any) -> None:
        """See ``save``."""
        self._refuse(path)
        super().parquet(path, *args, **kwargs)

    def text(self, path: str, *args: Any, **kwargs: Any) -> None:
        """See ``save``."""
        self._refuse(path)
        super().text(path, *args, **kwargs)

    def csv(self, path: str, *args: Any, **kwargs: Any) -> None:
        """See ``save``."""
        self._refuse(path)
        super().csv(path, *args, **kwargs)

    def xml(self, path: str, *args: Any, **kwargs: Any) -> None:
        """See ``save``."""
        self._refuse(path)
        super().xml(path, *args, **kwargs)

    def orc(self, path: str, *args: Any, **kwargs: Any) -> None:
        """See ``save``."""
        self._refuse(path)
        super().orc(path, *args, **kwargs)


def _names(*columns: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Return column names that were given as single arguments or as one list."""
    return tuple(name for c in columns for name in ([c] if isinstance(c, str) else c))


def _insert_into(
    session: AcidSession, table: Table, frame: DataFrame, settings: WriterSettings
) -> None:
    check_insert(settings, table)
    merges = settings.merges_schema
    if settings.replace_where is not None:
        _replace_where(session, table, frame, settings.replace_where, by_name=False)
    elif settings.mode == "overwrite":
        # None is the mode of INSERT OVERWRITE.
        mode = settings.overwrite_mode
        write_frame.overwrite(session, table, frame, mode=mode, by_name=False, merges_schema=merges)
    else:
        write_frame.append(session, table, frame, by_name=False, merges_schema=merges)


def _replace_where(
    session: AcidSession, table: Table, frame: DataFrame, condition: str, *, by_name: bool
) -> None:
    write_frame.overwrite_where(session, table, frame, condition, checked=True, by_name=by_name)


def _save_as_table(
    session: AcidSession, name: str, frame: DataFrame, settings: WriterSettings
) -> bool:
    """Write or create an ACID table; return False if Spark has to write the table."""
    parts = name_parts(session.spark, name)
    if parts is None:
        return False
    table = named_table(session, name)
    if table is None:
        if not makes_acid(session.spark, settings.format, settings.options):
            return False
        if known_to_spark(session, parts):
            if is_acid(settings.format):
                raise refuse_table_of_spark(parts)
            return False
        write_frame.create_as(session, new_table(parts, settings), frame)
        return True
    if settings.mode == "ignore":
        return True
    if settings.mode not in ("append", "overwrite"):
        raise already_exists(parts)
    written(table)
    if settings.mode == "overwrite" and settings.replaces_table:
        check_replace(settings, table)
        new = new_table(parts, settings)
        write_frame.create_as(session, new, frame, Replacing.IF_THERE)
        return True
    check_save(settings, table)
    merges = settings.merges_schema
    if settings.replace_where is not None:
        _replace_where(session, table, frame, settings.replace_where, by_name=True)
    elif settings.mode == "overwrite":
        mode = settings.overwrite_mode or write_frame.overwrite_mode(session)
        write_frame.overwrite(session, table, frame, mode=mode, merges_schema=merges)
    else:
        write_frame.append(session, table, frame, merges_schema=merges)
    return True
