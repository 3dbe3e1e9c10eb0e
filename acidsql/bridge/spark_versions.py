"""Differences between Spark releases, and the releases on which acidsql is tested."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from pyspark.sql import SparkSession

from acidsql.errors import AcidAnalysisError
from acidsql.once import once

# Releases on which all tests have passed. Other releases of these minor versions count as tried.
TRIED = ("3.5.9", "4.0.5", "4.1.4", "4.3.0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Spark internals that differ between releases.

    Attributes:
        sql_package: package of ``Dataset`` and ``SparkSession``.
        has_column_nodes: whether columns are ``ColumnNode``s, which become expressions when they
            are used. Each use of an alias then makes a new attribute. In other releases, columns
            are expressions.
        has_table_constraints: whether CREATE TABLE can have constraints.
        has_several_pruning_keys: whether a pruning subquery has several keys.
        has_streaming_local_relations: whether ``LocalRelation`` has a fourth field, its stream.
        has_scalar_functions_in_invokes: whether the last field of ``StaticInvoke`` is a scalar
            function.
        has_to_arrow: whether ``DataFrame.toArrow`` exists.
        keeps_char_of_omitted_columns: whether an INSERT gives an omitted CHAR column a NULL of the
            declared type, for which Spark has no encoder.
        has_three_orc_filter_arguments: whether ``OrcFilters.createFilter`` has a third argument.
        has_zone_of_time_travel: whether Spark computes the time of TIMESTAMP AS OF with the
            session's time zone. Other releases use the session's settings.
        alias_shows_hidden_columns: whether an alias exposes the hidden columns of a projection.
        has_streaming_packages: whether the classes of streaming sinks have a separate package.
        keeps_source_scans: whether a relation of a Python data source retains the scan that its
            first query planned.
    """

    sql_package: str
    has_column_nodes: bool
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
    """Return the major and minor version number of a release."""
    return tuple(int(part) for part in version.split(".")[:2])


def warn_if_untried(version: str) -> None:
    """Issue a ``UserWarning`` if acidsql was not tried on a release of Spark."""
    if minor_version(version) not in map(minor_version, TRIED):
        warnings.warn(
            f"acidsql was not tried on Spark {version}, but on {', '.join(TRIED)}: try your "
            "statements on a copy of your tables first",
            UserWarning,
            stacklevel=2,
        )


def missing_internal(version: str, name: str) -> AcidAnalysisError:
    """Build UNSUPPORTED_SPARK_VERSION for a class or field that a Spark release lacks."""
    return AcidAnalysisError(
        "UNSUPPORTED_SPARK_VERSION",
        f"Spark {version} has no {name}, which acidsql needs: use a release that it was tried on "
        f"({', '.join(TRIED)})",
    )
