"""Every call into the JVM that is not part of PySpark's public API.

``spark_versions`` contains the differences between releases. Code outside this package can pass
Java objects on, but does not call their methods. Plan transformations take a Scala ``Map`` as
their partial function, so they need no callback from the JVM into Python. Callbacks are for the
files of a scan, which Python chooses when the query runs, and for the servers. Code that walks over
a plan is written in Java (``java_sources``), so one call suffices.
"""

from py4j.protocol import Py4JError as GatewayError
from py4j.protocol import Py4JJavaError as JavaError

from acidsql.bridge import manifest_write, object_files, s3
from acidsql.bridge.acid_tables import (
    AcidRelation,
    AnalyzedColumn,
    DeletedRowsMode,
    Planner,
    SplitSettings,
    acid_relation,
)
from acidsql.bridge.analysis_errors import naming_table, without_plans
from acidsql.bridge.assignments import with_attributes
from acidsql.bridge.before_stop import before_stop
from acidsql.bridge.bucket_files import (
    BucketFileEncoder,
    FileSchema,
    Layout,
    write_bucket_files,
)
from acidsql.bridge.catalog import catalog_table, forget_table
from acidsql.bridge.client_statements import executed_command, session_of
from acidsql.bridge.column_defaults import check_default
from acidsql.bridge.column_definitions import (
    NewColumns,
    NewField,
    parse_columns,
    parse_new_columns,
)
from acidsql.bridge.commands import commands, written_by
from acidsql.bridge.conditions import (
    Conjunct,
    comparisons,
    condition_of,
    conditions_text,
    conjunct,
    constant_condition,
    delete_condition,
    deletes_by_columns,
    matching_rows,
    split_and,
)
from acidsql.bridge.connect_server import start_connect_server
from acidsql.bridge.current_values import CurrentValues
from acidsql.bridge.curves import hilbert_place, range_id
from acidsql.bridge.evolving import (
    MergeSource,
    insert_source,
    merge_source,
    without_stars,
)
from acidsql.bridge.file_splits import share_of_task
from acidsql.bridge.file_statuses import ScanFile
from acidsql.bridge.gateway import send_answers_at_once
from acidsql.bridge.generated_conditions import (
    compared_column,
    functions_of_column,
    partition_attributes,
    result_condition,
)
from acidsql.bridge.hadoop import (
    ListedPath,
    append_bytes,
    assemble_file,
    copy_file,
    delete_if_empty,
    delete_path,
    file_size,
    hadoop_conf,
    hadoop_path,
    hadoop_setting,
    hadoop_tokens,
    hadoop_user,
    is_directory,
    is_same_file_system,
    list_paths,
    make_directories,
    path_exists,
    path_text,
    qualified_path,
    read_bytes,
    rename_below,
    rename_path,
    replace_path,
    write_bytes,
)
from acidsql.bridge.hashes import can_hash, java_hash, murmur_hash
from acidsql.bridge.inner_statements import (
    execute_immediate,
    function_text,
    written_in_script,
)
from acidsql.bridge.inserts import insert_into_files, insert_query, is_temp_view_of_query
from acidsql.bridge.instants import (
    InstantType,
    all_instants,
    fields_with_instants,
    inner_types,
    types_in,
)
from acidsql.bridge.java_calls import position_of_text
from acidsql.bridge.jobs import awaited_errors, job_description, job_errors, naming_column
from acidsql.bridge.jvm import (
    Expression,
    JavaObject,
    LogicalPlan,
    active,
    has_jvm,
    is_stopped,
    java_type,
    jvm_memory,
    jvm_time_zone,
    same,
    session_key,
    session_time_zone,
    setting_names,
    simple_name,
)
from acidsql.bridge.jvm_cache import JvmCache, cached_per_session
from acidsql.bridge.jvm_planning import fill, rebound
from acidsql.bridge.merge import (
    Clause,
    MergePlan,
    analyze_merge,
    merge_join,
    merge_pieces,
    merge_query,
    merge_with_broadcast_source,
)
from acidsql.bridge.nondeterminism import computed_once, has_same_values, is_observed_once
from acidsql.bridge.plan_outline import (
    AggregateFunction,
    FileRelation,
    FilterConjunct,
    PlanNode,
    PlanOutline,
    outline,
)
from acidsql.bridge.plans import (
    Reference,
    analyze,
    coalesce_tasks,
    codegen_barrier,
    created_table,
    current_namespace,
    frame_in,
    frame_of,
    global_temp_database,
    input_bytes,
    is_session_function,
    is_temp_view,
    logical_plan,
    persistent_functions,
    qualifier_of,
    rebalance,
    references,
    renamed_reference,
    replace_relations,
    substitute_ctes,
    temp_view,
    unqualified_functions,
)
from acidsql.bridge.relations import (
    FILE_ORDINAL,
    RelationWatch,
    collect_garbage,
    file_relation,
    file_scan,
    plan_source_scans,
    reachable,
    rows_of,
)
from acidsql.bridge.row_conditions import (
    GENERATED,
    RowCondition,
    checked_rows,
    identity_violation,
    row_condition,
    row_value,
    with_row_value,
)
from acidsql.bridge.row_level import (
    analyze_delete,
    analyze_update,
    assigned_columns,
    delete_rows,
    qualify_target,
    required_rows_query,
    update_rows,
    updated_columns,
)
from acidsql.bridge.row_numbers import held_rows, numbered_rows, row_counts
from acidsql.bridge.rows import (
    arrow_table,
    collect_to_driver,
    fits_in_driver,
    has_join,
    has_local_rows,
    has_search_argument,
    largest_number_of_rows,
    limit_per_task,
    local_rows,
    replace_by_collected,
    rows_per_task,
    text_of,
)
from acidsql.bridge.spark_versions import warn_if_untried
from acidsql.bridge.sql_text import (
    alias_of,
    check_expression,
    column_sql,
    explain,
    literal_sql,
    parse,
    parse_name,
    parse_names,
    parse_stored_type,
    parse_type,
    parse_view_columns,
    renamed,
    select,
    sort_order,
    substitute_variables,
    transforms,
    type_sql,
    verbatim,
)
from acidsql.bridge.statement_settings import redacted, statement_settings
from acidsql.bridge.stripe_rewriter import StripeRows, rewrite_stripes
from acidsql.bridge.subqueries import (
    dynamic_pruning,
    subqueries_in,
    without_conditions,
)
from acidsql.bridge.table_changes import ChangesCall, ChangesClause, Timestamp, changes_of
from acidsql.bridge.thrift_server import start_thrift_server
from acidsql.bridge.time_travel import expression_text, timestamp_of, timestamp_of_text
from acidsql.bridge.trees import (
    attributes_of,
    compute_values,
    data_type_of,
    has_char_columns,
    is_deterministic,
    left_of,
    operands,
    output_of,
    parse_expression,
    refers_only_to,
    refers_to_columns,
    substitute,
    with_attributes_of,
    with_left,
)
from acidsql.bridge.trust_store import trusted_certificates
from acidsql.bridge.unresolved_plan import (
    BARE_NUMBER,
    UnresolvedPlan,
    chosen_values,
    count_only_rows,
    hide_columns,
    named_columns,
)
