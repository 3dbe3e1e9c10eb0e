"""Differences between the releases of Spark, and the releases that were tried."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from pyspark.sql import SparkSession

from acidsql.errors import AcidAnalysisError
from acidsql.once import once

# Releases on which all tests have passed; others of the same minor version count as tried.
TRIED = ("3.5.9", "4.0.5", "4.1.4", "4.3.0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Internals that some releases of Spark have and others do not.

    Attributes:
        sql_package: package of ``Dataset`` and ``SparkSession``.
        has_column_nodes: columns are ``ColumnNode``s, which become expressions when they are used;
            each use of an alias makes a new attribute. Else they are expressions.
        has_named_fields: case classes provide the names of their fields (Scala 2.13).
        has_table_constraints: CREATE TABLE has constraints.
        has_several_pruning_keys: a pruning subquery has several keys.
        has_streaming_local_relations: ``LocalRelation`` has a fourth field, the stream it is of.
        has_scalar_functions_in_invokes: ``StaticInvoke`` has a last field, a scalar function.
        has_to_arrow: ``DataFrame.toArrow`` exists.
        keeps_char_of_omitted_columns: an INSERT has NULL of the declared CHAR type for an omitted
            column, for which Spark has no encoder.
        has_three_orc_filter_arguments: ``OrcFilters.createFilter`` has a third argument.
        has_zone_of_time_travel: the moment of TIMESTAMP AS OF is computed with the time zone of a
            session, else with its settings.
        alias_shows_hidden_columns: hidden columns of a projection are found through an alias.
        has_streaming_packages: classes of streaming sinks are in a package of their own.
        keeps_source_scans: a relation of a data source in Python keeps what its first query has
            planned.
    """

    sql_package: str
    has_column_nodes: bool
    has_named_fields: bool
    has_table_constraints: bool
    has_several_pruning_keys: bool
    has_streaming_local_relations: bool
    has_scalar_functions_in_invokes: bool
    has_to_arrow: bool
    keeps_char_of_omitted_columns: bool
    has_three_orc_filter_arguments: bool
    has_zone_of_time_travel: bool
    alias_shows_hidden_columns: bool
    has_streaming_packages: bool
    keeps_source_scans: bool


def differences(spark: SparkSession) -> Differences:
    """Return the differences of the release that a session runs on."""
    return differences_of(spark.version)


@once
def differences_of(version: str) -> Differences:
    """Return the differences of a release, such as ``4.1.0``."""
    release = minor_version(version)
    is_4 = release >= (4, 0)
    return Differences(
        sql_package="org.apache.spark.sql.classic" if is_4 else "org.apache.spark.sql",
        has_column_nodes=is_4,
        has_named_fields=is_4,
        has_table_constraints=is_4,
        has_several_pruning_keys=is_4,
        has_streaming_local_relations=is_4,
        has_scalar_functions_in_invokes=is_4,
        has_to_arrow=is_4,
        keeps_char_of_omitted_columns=not is_4,
        has_three_orc_filter_arguments=release >= (4, 3),
        has_zone_of_time_travel=is_4,
        alias_shows_hidden_columns=release >= (4, 3),
        has_streaming_packages=release >= (4, 1),
        keeps_source_scans=release >= (4, 1),
    )


def minor_version(version: str) -> tuple[int, ...]:
    """Return the major and minor number of a release."""
    return tuple(int(part) for part in version.split(".")[:2])


def warn_if_untried(version: str) -> None:
    """Warn if acidsql was not tried on a release of Spark (``UserWarning``)."""
    if minor_version(version) not in map(minor_version, TRIED):
        warnings.warn(
            f"acidsql was not tried on Spark {version}, but on {', '.join(TRIED)}: try your "
            "statements on a copy of your tables first",
            UserWarning,
            stacklevel=2,
        )


def missing_internal(version: str, name: str) -> AcidAnalysisError:
    """Build the error for a class or field that a release of Spark lacks
    (UNSUPPORTED_SPARK_VERSION).
    """
    return AcidAnalysisError(
        "UNSUPPORTED_SPARK_VERSION",
        f"Spark {version} has no {name}, which acidsql needs: use a release that it was tried on "
        f"({', '.join(TRIED)})",
    )
