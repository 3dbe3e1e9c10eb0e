"""Settings of a ``DataFrameWriter``, and checks that they suit an ACID table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from acidsql.commands.write_frame import NewTable
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import folded
from acidsql.metastore.model import FileFormat, Table
from acidsql.session.settings import makes_acid_tables
from acidsql.syntax.nodes import Clustering, Name

_OVERWRITE_MODE = "partitionoverwritemode"
_MERGE_SCHEMA = "mergeschema"
_REPLACE_WHERE = "replacewhere"
_OVERWRITE_SCHEMA = "overwriteschema"
_TRANSACTIONAL = "transactional"
# Options that do not become properties of the new table.
_NO_PROPERTIES = (_OVERWRITE_MODE, _MERGE_SCHEMA, _REPLACE_WHERE, _OVERWRITE_SCHEMA, "path")
_ACID = "acidsql"
# Names of each file format; ``hive`` and ``acidsql`` mean the table's current format.
_FORMATS = {
    FileFormat.ORC: ("orc", "hive", _ACID),
    FileFormat.PARQUET: ("parquet", "hive", _ACID),
    FileFormat.TEXT: ("text", "textfile", "hive", _ACID),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSettings:
    """Settings that a writer was given.

    Attributes:
        mode: save mode in lower case.
        format: format as given, or None.
        options: options as given; Spark ignores the case of their keys.
    """

    mode: str = "errorifexists"
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    partitioned_by: tuple[str, ...] = ()
    bucketed_by: tuple[str, ...] = ()
    buckets: int = 0
    sorted_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()

    def option(self, key: str) -> str | None:
        """Return the value of an option, or None; the case of the key is ignored."""
        return {k.lower(): value for k, value in self.options.items()}.get(key.lower())

    @property
    def overwrite_mode(self) -> str | None:
        """Value of the option ``partitionOverwriteMode``, or None."""
        return self.option(_OVERWRITE_MODE)

    @property
    def replaces_table(self) -> bool:
        """Whether ``mode("overwrite")`` replaces the table, and not only its rows.

        This is the value of the option ``overwriteSchema``.
        """
        return (self.option(_OVERWRITE_SCHEMA) or "false").lower() == "true"

    @property
    def replace_where(self) -> str | None:
        """Value of the option ``replaceWhere``, or None."""
        return self.option(_REPLACE_WHERE)

    @property
    def merges_schema(self) -> bool:
        """Whether the option ``mergeSchema`` is true."""
        return merges_schema(self.options)


def merges_schema(options: Mapping[str, str]) -> bool:
    """Return whether Delta Lake's option ``mergeSchema`` is true.

    If it is, the table gets the additional columns of the rows.
    """
    return any(k.lower() == _MERGE_SCHEMA and v.lower() == "true" for k, v in options.items())


def check_insert(settings: WriterSettings, table: Table) -> None:
    """Refuse settings of ``insertInto`` that apply only to a new table, as Spark does.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.
    """
    _refuse_layout(
        settings, table, ("PARTITION_BY", "BUCKET_BY"), "the table has a layout of its own"
    )
    if settings.replaces_table:
        raise _unsupported(
            "WRITE_OPTION",
            table,
            "option overwriteSchema",
            "insertInto writes rows into the columns that there are; use saveAsTable",
        )
    _check_carried(settings, table)


def check_save(settings: WriterSettings, table: Table) -> None:
    """Refuse ``saveAsTable`` of an existing table with another format or layout.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.
    """
    columns = [c.name for c in table.partition_columns]
    if settings.partitioned_by and not _same(settings.partitioned_by, columns):
        raise _unsupported(
            "PARTITION_BY",
            table,
            f"partitionBy({', '.join(settings.partitioned_by)})",
            f"it is partitioned by {', '.join(columns) or 'nothing'}; leave partitionBy out",
        )
    if settings.buckets and not (
        settings.buckets == table.num_buckets and _same(settings.bucketed_by, table.bucket_columns)
    ):
        raise _unsupported(
            "BUCKET_BY", table, "bucketBy", "it has other buckets; leave bucketBy out"
        )
    _check_carried(settings, table)


def check_replace(settings: WriterSettings, table: Table) -> None:
    """Refuse settings of ``saveAsTable`` that cannot be used when it replaces a table.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.
    """
    check_format(settings.format, table)
    if settings.replace_where is not None or settings.overwrite_mode is not None:
        raise _unsupported(
            "WRITE_OPTION",
            table,
            "option overwriteSchema",
            "it replaces the whole table, and another option only some rows; leave one of them out",
        )


def new_table(name: Name, settings: WriterSettings) -> NewTable:
    """Return the definition of the table that ``saveAsTable`` creates; options become properties.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.
    """
    for feature, columns in (
        ("SORT_BY", settings.sorted_by),
        ("CLUSTER_BY", settings.clustered_by),
    ):
        if columns:
            raise AcidAnalysisError(
                f"UNSUPPORTED_FEATURE.{feature}",
                f"{_method(feature)} is not supported for transactional tables: leave it out",
            )
    clustering = Clustering(columns=settings.bucketed_by, sorted=False, buckets=settings.buckets)
    kept = {k: v for k, v in settings.options.items() if k.lower() not in _NO_PROPERTIES}
    return NewTable(
        name=name,
        stored_as=stored_as(settings.format),
        partitioned_by=settings.partitioned_by,
        clustered_by=clustering if settings.buckets else None,
        location=settings.option("path"),
        properties=table_properties(kept),
    )


def stored_as(name: str | None) -> str:
    """Return the file format of a new table for the format name of a writer."""
    return "ORC" if name is None or name.lower() in ("hive", _ACID) else name


def is_acid(name: str | None) -> bool:
    """Return whether a format means an ACID table, regardless of the file format."""
    return name is not None and name.lower() == _ACID


def makes_acid(spark: SparkSession, name: str | None, given: Mapping[str, str]) -> bool:
    """Return whether a writer that creates a table creates an ACID table.

    Args:
        spark: the session; its setting applies if the writer does not specify it.
        name: name of the format, or None.
        given: table properties, or options.

    Raises:
        AcidAnalysisError: INVALID_TABLE_PROPERTY, the format and the properties contradict each
            other; INVALID_CONF_VALUE.
    """
    if is_transactional(given):
        return True
    says_no = any(key.lower() == _TRANSACTIONAL for key in given)
    if says_no and is_acid(name):
        raise AcidAnalysisError(
            "INVALID_TABLE_PROPERTY",
            "the format is acidsql and transactional is not true: leave one of them out",
        )
    return is_acid(name) or (name is None and not says_no and makes_acid_tables(spark))


def refuse_table_of_spark(name: Name) -> AcidAnalysisError:
    """Build the error of a write that treats a table of Spark as an ACID table."""
    return AcidAnalysisError(
        "NOT_A_TRANSACTIONAL_TABLE",
        f"{'.'.join(name)} is a table or view of Spark's own: leave the format acidsql out, or "
        "choose another name",
    )


def is_transactional(given: Mapping[str, str]) -> bool:
    """Return whether table properties, or options, request a transactional table."""
    return any(k.lower() == _TRANSACTIONAL and v.lower() == "true" for k, v in given.items())


def table_properties(given: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a new transactional table.

    ``transactional`` gets Hive's spelling, and Spark's ``compression`` becomes ORC's property.
    """
    spelled = {_TRANSACTIONAL: _TRANSACTIONAL, "compression": "orc.compress"}
    kept = {spelled.get(key.lower(), key): value for key, value in given.items()}
    return {**kept, _TRANSACTIONAL: "true"}


def check_options(options: Mapping[str, str], table: Table, *, of_overwrite: bool = False) -> None:
    """Refuse options of a writer that have no effect on a transactional table.

    Also refuse two options that contradict each other: one replaces whole partitions, the other
    replaces only some rows.

    Args:
        options: options as given.
        table: table that is written to.
        of_overwrite: whether the options of ``mode("overwrite")`` are allowed.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.WRITE_OPTION.
    """
    known = {_OVERWRITE_MODE, *((_REPLACE_WHERE, _OVERWRITE_SCHEMA) if of_overwrite else ())}
    given = {key.lower() for key in options}
    if of_overwrite and given >= {_REPLACE_WHERE, _OVERWRITE_MODE}:
        raise _unsupported(
            "WRITE_OPTION",
            table,
            "option replaceWhere",
            "partitionOverwriteMode says that whole partitions are replaced; leave one of them out",
        )
    for key, value in options.items():
        is_flag = key.lower() == _MERGE_SCHEMA and value.lower() in ("true", "false")
        is_known = is_flag or key.lower() in known
        if not is_known and not is_transactional({key: value}):
            raise _unsupported(
                "WRITE_OPTION",
                table,
                f"option {key}",
                "table properties define how its files are written; leave the option out",
            )


def check_format(name: str | None, table: Table) -> None:
    """Refuse a format that differs from the table's format.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.WRITE_FORMAT.
    """
    known = _FORMATS[table.file_format]
    if name is not None and name.lower() not in known:
        raise _unsupported(
            "WRITE_FORMAT",
            table,
            f"format {name}",
            f"its files are {table.file_format.name}; leave the format out",
        )


def _check_carried(settings: WriterSettings, table: Table) -> None:
    _refuse_layout(
        settings, table, ("SORT_BY", "CLUSTER_BY"), "rows are in the order of their row ids"
    )
    check_format(settings.format, table)
    check_options(settings.options, table, of_overwrite=settings.mode == "overwrite")


def _refuse_layout(
    settings: WriterSettings, table: Table, features: Sequence[str], reason: str
) -> None:
    given = {
        "PARTITION_BY": settings.partitioned_by,
        "BUCKET_BY": settings.bucketed_by,
        "SORT_BY": settings.sorted_by,
        "CLUSTER_BY": settings.clustered_by,
    }
    for feature in features:
        if given[feature]:
            method = _method(feature)
            raise _unsupported(feature, table, method, f"{reason}; leave {method} out")


def _method(feature: str) -> str:
    first, second = feature.lower().split("_")
    return first + second.capitalize()


def _same(given: Sequence[str], columns: Sequence[str]) -> bool:
    return list(map(folded, given)) == list(map(folded, columns))


def _unsupported(feature: str, table: Table, what: str, reason: str) -> AcidAnalysisError:
    return AcidAnalysisError(
        f"UNSUPPORTED_FEATURE.{feature}",
        f"{what} is not possible on the transactional table {table.full_name}: {reason}",
    )
