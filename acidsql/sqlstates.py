"""SQLSTATE of each condition.

Conditions that Spark has keep the SQLSTATE of Spark's ``error-conditions.json``. The others have
one of the SQL standard where it has a fitting one, else PostgreSQL's, ODBC's or Spark's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_BY_SQLSTATE: Mapping[str, tuple[str, ...]] = {
    # 08, 28: connection, authorization
    "08001": ("METASTORE_UNAVAILABLE", "STORAGE_UNAVAILABLE"),
    "08003": ("CONNECTION_CLOSED",),
    "08004": ("CONNECT_SERVER_NOT_STARTED", "THRIFT_SERVER_NOT_STARTED"),
    "28000": ("METASTORE_AUTHENTICATION",),
    # 0A: feature not supported
    "0A000": (
        "ACID_V1_EVENTS",
        "COLUMNS_NOT_CONVERTIBLE",
        "CONNECT_SERVER_MISSING",
        "DELTA_EXTENSION_MISSING",
        "DESCRIBE_JSON_NOT_EXTENDED",
        "INVALID_PARTITION_COLUMN_DATA_TYPE",
        "NOT_SUPPORTED_CHANGE_COLUMN",
        "PYORC_MISSING",
        "THRIFT_SERVER_MISSING",
        "UNSUPPORTED_CONSTRAINT_CHARACTERISTIC",
        "UNSUPPORTED_DATATYPE",
        "UNSUPPORTED_DIALECT_FEATURE",
        "UNSUPPORTED_FEATURE",
        "UNSUPPORTED_FILE_FORMAT",
        "UNSUPPORTED_ORC_COMPRESSION",
        "UNSUPPORTED_ORC_VERSION",
        "UNSUPPORTED_ORIGINAL_FILES",
        "UNSUPPORTED_SESSION",
        "UNSUPPORTED_SPARK_VERSION",
    ),
    "21000": ("ROW_SUBQUERY_TOO_MANY_ROWS",),
    # 22: data, values of parameters, settings and properties
    "22000": ("INVALID_RECORD",),
    "22003": ("INVALID_BUCKET_COUNT",),
    "22022": (  # Spark's of INVALID_CONF_VALUE
        "INVALID_CONF_VALUE",
        "METASTORE_PATH_NEEDED",
        "METASTORE_URI",
        "MISSING_SERVER_SETTING",
        "UNSUPPORTED_METASTORE",
    ),
    "22023": (
        "EMPTY_PARTITION_VALUE",
        "INVALID_CHANGE_RANGE",
        "INVALID_CHECKPOINT",
        "INVALID_COMPACTION_TYPE",
        "INVALID_PARAMETER_VALUE",
        "INVALID_PARTITION_OVERWRITE_MODE",
        "INVALID_SNAPSHOT_TEXT",
        "INVALID_SORT_ORDER",
        "INVALID_TABLE_PROPERTY",
    ),
    # 23: constraints
    "23001": ("CHECK_CONSTRAINT_VIOLATION",),
    "23512": ("NEW_CHECK_CONSTRAINT_VIOLATION",),
    "23K01": ("MERGE_CARDINALITY_VIOLATION",),
    # 25: transaction state
    "25000": ("TXN_COMMITTED", "WRITE_ID_REFUSED"),
    "25001": ("NOT_ALLOWED_IN_TRANSACTION",),
    "25006": ("NOT_ALLOWED_AS_OF", "READ_ONLY_TRANSACTION"),
    "25P01": ("NO_ACTIVE_TRANSACTION", "NO_SUCH_TXN"),
    "2BP01": ("COLUMN_USED_BY_CONSTRAINT", "SCHEMA_NOT_EMPTY"),
    # 40: the transaction was rolled back, and can be tried again
    "40000": ("TXN_ABORTED", "WRITE_ID_IN_USE"),
    "40001": ("CONCURRENT_WRITE", "STREAM_OFFSET_CHANGED", "TABLE_REPLACED"),
    "40003": ("COMMIT_OUTCOME_UNKNOWN",),
    # 42: names, syntax, analysis
    "42000": (
        "INVALID_ALTER_TABLE",
        "LOCATION_OUTSIDE_WAREHOUSE",
        "NON_PARTITION_COLUMN",
        "NOT_NULL_ASSERT_VIOLATION",
        "NOT_NULL_CONSTRAINT_VIOLATION",
    ),
    "42601": (
        "INVALID_PARTITION_OPERATION",
        "PARSE_SYNTAX_ERROR",
        "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE",
    ),
    "42602": (
        "INVALID_OBJECT",
        "INVALID_PARTITION_NAME",
        "INVALID_SCHEMA_OR_RELATION_NAME",
        "INVALID_TAG_NAME",
        "UNSUPPORTED_COLUMN_NAME",
    ),
    "42621": (
        "INVALID_CHECK_CONSTRAINT",
        "INVALID_GENERATED_COLUMN",
        "NON_DETERMINISTIC_CHECK_CONSTRAINT",
    ),
    "42623": ("INVALID_DEFAULT_VALUE",),
    "42702": ("AMBIGUOUS_PARTITION",),
    "42703": ("COLUMN_NOT_FOUND", "UNRESOLVED_ASSIGNMENT"),
    "42704": (
        "COMPACTION_NOT_FOUND",
        "CONSTRAINT_DOES_NOT_EXIST",
        "SCHEMA_NOT_FOUND",
        "TAG_NOT_FOUND",
        "VERSION_NOT_FOUND",
    ),
    "42710": (
        "CONSTRAINT_ALREADY_EXISTS",
        "LOCATION_ALREADY_EXISTS",
        "LOCATION_IN_USE",
        "PARTITION_LOCATION_NOT_EMPTY",
        "TABLE_OF_ANOTHER_METASTORE",
        "TAG_ALREADY_EXISTS",
    ),
    "42711": ("COLUMN_ALREADY_EXISTS",),
    "42713": ("STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST",),
    "42802": ("PARTITION_VALUES_MISMATCH",),
    "42803": ("MISSING_GROUP_BY",),
    "42804": (
        "ADOPTED_SCHEMA_MISMATCH",
        "IMPORT_SCHEMA_MISMATCH",
        "LOAD_DATA_SCHEMA_MISMATCH",
    ),
    "42809": (
        "CANNOT_CONVERT_TABLE",
        "EXPECT_TABLE_NOT_VIEW",
        "EXPECT_VIEW_NOT_TABLE",
        "LOAD_DATA_ACID_FILE",
        "LOAD_DATA_DIRECTORY",
        "NOT_A_TRANSACTIONAL_TABLE",
    ),
    "428FR": ("CANNOT_ALTER_PARTITION_COLUMN",),
    "428FT": (
        "PARTITIONS_ALREADY_EXIST",
        "PARTITIONS_NOT_FOUND",
        "PARTITION_ALREADY_EXISTS",
        "PARTITION_NOT_FOUND",
    ),
    "42830": ("FOREIGN_KEY_COLUMNS",),  # Db2's
    "42903": ("INVALID_WHERE_CONDITION",),
    "42939": ("RESERVED_COLUMN_NAME",),
    "42K03": ("LOAD_DATA_PATH_NOT_EXISTS",),
    "42K04": ("PATH_ALREADY_EXISTS",),
    "42K05": ("INVALID_LOCATION", "REQUIRES_SINGLE_PART_NAMESPACE"),
    "42K0E": (
        "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
        "INVALID_TIME_TRAVEL_SPEC",
        "UNSUPPORTED_EXPR_FOR_OPERATOR",
        "UNSUPPORTED_MERGE_CONDITION",
    ),
    "42K0F": ("INVALID_TEMP_OBJ_REFERENCE",),
    "42K0H": ("RECURSIVE_VIEW",),
    "42P01": ("TABLE_OR_VIEW_NOT_FOUND",),
    "42P02": ("UNBOUND_SQL_PARAMETER",),
    "42P06": ("SCHEMA_ALREADY_EXISTS",),
    "42P07": ("TABLE_OR_VIEW_ALREADY_EXISTS",),
    "42P16": ("MULTIPLE_PRIMARY_KEYS",),
    "44000": ("REPLACE_WHERE_MISMATCH",),  # the standard's of WITH CHECK OPTION
    # 54, 55: limits, objects in another state or in use
    "54000": (
        "BUCKET_OUT_OF_RANGE",
        "COMMENT_TOO_LONG",
        "TOO_MANY_STATEMENTS",
        "TOO_MANY_WRITE_IDS",
    ),
    "54001": ("FAILED_TO_PARSE_TOO_COMPLEX",),
    "55000": (
        "COMPACTION_INTERRUPTED",
        "COMPACTION_STATE_CHANGED",
        "CONVERSION_SOURCE_CHANGED",
        "CONVERSION_TARGET_NOT_EMPTY",
        "FILE_OPERATION_PENDING",
        "HELD_TABLE_CHANGED",
        "IMPORT_TARGET_NOT_EMPTY",
        "JAVA_NEEDED",
        "METASTORE_NOT_LOCAL",
        "SESSION_OF_ANOTHER_PROCESS",
        "UNDO_CONFLICT",
        "UNKNOWN_DIRECTORIES",
    ),
    "55006": ("OPEN_STREAMING_FILE",),
    "55P03": ("LOCK_TIMEOUT", "METASTORE_BUSY"),  # PostgreSQL's of lock_timeout
    # 58, KD, XX: files and servers
    "58000": ("METASTORE_ERROR", "WORKER_WITHOUT_ACIDSQL"),
    "58030": ("FILE_TOO_SHORT", "RENAME_FAILED", "SYNC_FAILED"),
    "58P01": ("DELETE_EVENT_WITHOUT_ROW", "DIRECTORY_NOT_FOUND"),
    "72000": (  # PostgreSQL's and Oracle's "snapshot too old"
        "ACID_NOT_ENOUGH_HISTORY",
        "HISTORY_NOT_AVAILABLE",
        "VERSION_HAS_OTHER_COLUMNS",
    ),
    "HY000": ("WRITE_JOB_FAILED",),
    "HYT00": ("COMPACTION_TIMEOUT", "METASTORE_TIMEOUT"),
    "KD001": ("FAILED_READ_FILE",),
    "KD002": ("METASTORE_VERSION",),
    "KD005": ("MISSING_COLUMNS",),
    "KD009": ("UNEXPECTED_PARTITION_DIRECTORY",),
    "XX000": ("UNEXPECTED_STAGED_FILE",),
    "XX001": (
        "COPY_DIFFERS",
        "INVALID_ACID_STATS",
        "INVALID_ARCHIVE",
        "INVALID_BASE_METADATA",
        "INVALID_BUCKET_PROPERTY",
        "INVALID_DIRECTORY_NAME",
        "INVALID_KEY_INDEX",
        "INVALID_ORC_TAIL",
        "INVALID_ORIGINAL_FILE_NAME",
        "NOT_AN_ACID_FILE",
    ),
}

SQLSTATES: Mapping[str, str] = MappingProxyType(
    {condition: state for state, conditions in _BY_SQLSTATE.items() for condition in conditions}
)
"""From the name of a condition, without its subclass (``.…``), to its SQLSTATE."""


def sqlstate(condition: str) -> str | None:
    """Return the SQLSTATE of a condition, which its subclasses share; None if it has none.

    >>> sqlstate("UNSUPPORTED_FEATURE.OR_REPLACE")
    '0A000'
    """
    return SQLSTATES.get(condition.partition(".")[0])
