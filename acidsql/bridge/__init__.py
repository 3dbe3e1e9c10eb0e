"""Every call into the JVM that is not part of PySpark's public API.

Tried on Spark 3.5.9, 4.0.5, 4.1.4 and 4.3.0. Nothing outside this package touches py4j objects
other than to hand them back to it. A Scala ``Map`` serves as the partial function of plan
transformations, so that no callback from the JVM into Python is needed.
"""

from acidsql.bridge.hadoop import (
    append_bytes,
    delete_if_empty,
    hadoop_conf,
    hadoop_path,
    list_files,
    list_names,
    read_bytes,
    write_bytes,
)
from acidsql.bridge.inserts import insert_into_files, insert_query
from acidsql.bridge.jobs import job_errors
from acidsql.bridge.jvm import JavaObject, active, jvm_time_zone, same
from acidsql.bridge.plans import (
    Reference,
    aliases_are_fresh,
    analyze,
    frame_of,
    hide_columns,
    input_bytes,
    is_temp_view,
    join,
    opaque,
    rebalance,
    references,
    replace_relations,
    substitute_ctes,
    temp_view,
)
from acidsql.bridge.relations import ScanDirectory, collect_garbage, orc_relation, reachable
from acidsql.bridge.row_level import (
    Clause,
    MergePlan,
    analyze_merge,
    analyze_update,
    delete_rows,
    merge_pieces,
    update_pieces,
)
from acidsql.bridge.texts import (
    alias_of,
    column_sql,
    explain,
    literal_sql,
    parse,
    parse_columns,
    parse_name,
    parse_names,
    parse_type,
    substitute_variables,
    type_sql,
)

__all__ = [
    "Clause",
    "JavaObject",
    "MergePlan",
    "Reference",
    "ScanDirectory",
    "active",
    "alias_of",
    "aliases_are_fresh",
    "analyze",
    "analyze_merge",
    "analyze_update",
    "append_bytes",
    "collect_garbage",
    "column_sql",
    "delete_if_empty",
    "delete_rows",
    "explain",
    "frame_of",
    "hadoop_conf",
    "hadoop_path",
    "hide_columns",
    "input_bytes",
    "insert_into_files",
    "insert_query",
    "is_temp_view",
    "job_errors",
    "join",
    "jvm_time_zone",
    "list_files",
    "list_names",
    "literal_sql",
    "merge_pieces",
    "opaque",
    "orc_relation",
    "parse",
    "parse_columns",
    "parse_name",
    "parse_names",
    "parse_type",
    "reachable",
    "read_bytes",
    "rebalance",
    "references",
    "replace_relations",
    "same",
    "substitute_ctes",
    "substitute_variables",
    "temp_view",
    "type_sql",
    "update_pieces",
    "write_bytes",
]
