"""Tags: names of table versions that cleaners retain (Apache Iceberg uses the same words)."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.errors import AcidAnalysisError, AcidLookupError
from acidsql.metastore.moments import TableVersion, moment_of_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """Tag of a table.

    Attributes:
        tag_id: number that no other tag ever has.
        name: its name, which is case-sensitive.
        version: the version that it names.
        created: seconds since 1970.
        expires: seconds since 1970 from which on cleaners may remove its directories; None: it
            never expires.
    """

    tag_id: int
    name: str
    version: TableVersion
    created: float
    expires: float | None


def check_tag_name(name: str) -> None:
    """Refuse a name that VERSION AS OF would interpret as a version.

    Raises:
        AcidAnalysisError: INVALID_TAG_NAME.
    """
    if not name.strip() or moment_of_text(name) is not None:
        raise AcidAnalysisError(
            "INVALID_TAG_NAME",
            f"{name!r} cannot be the name of a tag, because it means a write id or a transaction "
            "after VERSION AS OF, or nothing: choose a name with a letter",
        )


def tag_exists(table: str, name: str) -> AcidAnalysisError:
    """Return the error for a new tag whose name is taken (TAG_ALREADY_EXISTS)."""
    return AcidAnalysisError(
        "TAG_ALREADY_EXISTS",
        f"{table} has a tag {name!r} already: choose another name, or drop it first",
        {"tableName": table, "tag": name},
    )


def tag_not_found(table: str, name: str) -> AcidLookupError:
    """Return the error for a tag that does not exist (TAG_NOT_FOUND)."""
    return AcidLookupError(
        "TAG_NOT_FOUND",
        f"{table} has no tag {name!r}: SHOW TAGS IN {table} lists them; or use IF EXISTS",
        {"tableName": table, "tag": name},
    )


def tags_unsupported(table: str) -> AcidAnalysisError:
    """Return the error for tags if a server cleans (UNSUPPORTED_FEATURE.TAGS)."""
    return AcidAnalysisError(
        "UNSUPPORTED_FEATURE.TAGS",
        f"{table} can have no tags, because its metastore is a Hive Metastore, whose cleaner would "
        "remove the files of a tag: CLONE the version into another table",
    )
