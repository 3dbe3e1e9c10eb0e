"""Every call into the JVM that is not part of PySpark's public API.

Tried on Spark 3.5.9, 4.0.5, 4.1.4 and 4.3.0. Nothing outside this module touches py4j objects other
than to hand them back to it. A Scala ``Map`` serves as the partial function of plan
transformations, so that no callback from the JVM into Python is needed.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import ParseException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import col, lit
from pyspark.sql.types import DataType, StructType

from acidsql.errors import AcidAnalysisError

JavaObject = Any  # py4j has no static types

_CATALYST = "org.apache.spark.sql.catalyst"
_SOURCES = "org.apache.spark.sql.execution.datasources"


# -- Scala and Java values ------------------------------------------------------------------------


def _jvm(spark: SparkSession) -> JavaObject:
    return spark.sparkContext._jvm


def _class(spark: SparkSession, name: str) -> JavaObject:
    """A class, or the Scala object of that name, by its full name; looked up once per JVM.

    py4j asks the JVM about every part of the name, a round trip each.
    """
    jvm = _jvm(spark)
    known: dict[str, JavaObject] = jvm.__dict__.setdefault("_acidsql_classes", {})
    if name not in known:
        found = jvm
        for part in name.split("."):
            found = getattr(found, part)
        known[name] = found
    return known[name]


def _object(spark: SparkSession, name: str) -> JavaObject:
    """The singleton instance of a Scala object."""
    jvm = _jvm(spark)
    known: dict[str, JavaObject] = jvm.__dict__.setdefault("_acidsql_objects", {})
    if name not in known:
        known[name] = getattr(_class(spark, name + "$"), "MODULE$")
    return known[name]


def _seq(spark: SparkSession, items: Sequence[Any]) -> JavaObject:
    return _class(spark, "org.apache.spark.api.python.PythonUtils").toSeq(list(items))


def _map(spark: SparkSession, items: Mapping[Any, Any]) -> JavaObject:
    java_map = _class(spark, "java.util.HashMap")()
    for key, value in items.items():
        java_map[key] = value
    return _class(spark, "org.apache.spark.api.python.PythonUtils").toScalaMap(java_map)


def _list(seq: JavaObject) -> list[Any]:
    return [seq.apply(i) for i in range(seq.size())]


def _type(spark: SparkSession, schema: StructType) -> JavaObject:
    return _class(spark, "org.apache.spark.sql.types.DataType").fromJson(schema.json())


def _major(spark: SparkSession) -> int:
    return int(spark.version.split(".")[0])


def _name(node: JavaObject) -> str:
    return str(node.getClass().getSimpleName())


def _copy(spark: SparkSession, node: JavaObject, changes: Mapping[int, Any]) -> JavaObject:
    """A copy of a tree node with some constructor arguments changed, by position."""
    arity = node.productArity()
    arguments = spark.sparkContext._gateway.new_array(_class(spark, "java.lang.Object"), arity)
    for i in range(arity):
        arguments[i] = changes[i] if i in changes else node.productElement(i)
    return node.makeCopy(arguments)


@contextmanager
def active(spark: SparkSession) -> Iterator[None]:
    """Make a session the active one of the JVM's thread, whose settings Spark's parser goes by."""
    version = int(spark.version.split(".")[0])
    package = "org.apache.spark.sql.classic" if version >= 4 else "org.apache.spark.sql"
    sessions = _class(spark, f"{package}.SparkSession")
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def parse_type(spark: SparkSession, text: str) -> DataType:
    """The type of its SQL text; char and varchar keep their lengths."""
    parsed = spark._jsparkSession.sessionState().sqlParser().parseDataType(text)
    return StructType.fromJson(
        {
            "type": "struct",
            "fields": [
                {"name": "c", "type": json.loads(parsed.json()), "nullable": True, "metadata": {}}
            ],
        }
    )["c"].dataType


def type_sql(spark: SparkSession, data_type: DataType) -> str:
    """The SQL text of a type."""
    return str(
        _class(spark, "org.apache.spark.sql.types.DataType").fromJson(data_type.json()).sql()
    )


def parse_columns(spark: SparkSession, text: str) -> StructType:
    """The columns of a CREATE TABLE, from the text between its parentheses, defaults in their
    metadata.
    """
    plan = parse(spark, f"CREATE TABLE t ({text}) USING orc")
    if _major(spark) >= 4 and _has_constraints(plan.tableSpec()):
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.TABLE_CONSTRAINT",
            "constraints other than NOT NULL are not supported: leave them out of CREATE TABLE",
        )
    return StructType.fromJson(json.loads(plan.tableSchema().json()))


def _has_constraints(table_spec: JavaObject) -> bool:
    for i in range(table_spec.productArity()):
        if table_spec.productElementName(i) == "constraints":
            return bool(table_spec.productElement(i).nonEmpty())
    return False


def literal_sql(spark: SparkSession, value: object) -> str:
    """The SQL text of a Python value, as a literal of Spark's type for it."""
    if isinstance(value, Column):
        return f"({_expression(spark, value).sql()})"
    if isinstance(value, list | tuple):
        return f"array({', '.join(literal_sql(spark, v) for v in value)})"
    if isinstance(value, dict):
        items = [literal_sql(spark, v) for pair in value.items() for v in pair]
        return f"map({', '.join(items)})"
    return str(_expression(spark, lit(value)).sql())


def column_sql(spark: SparkSession, value: Column) -> str:
    """The SQL text of a column."""
    return str(_expression(spark, value).sql())


def alias_of(frame: DataFrame) -> str | None:
    """The alias that a DataFrame was given, if any."""
    plan = frame._jdf.queryExecution().logical()
    return str(plan.alias()) if _name(plan) == "SubqueryAlias" else None


def _expression(spark: SparkSession, value: Column) -> JavaObject:
    if _major(spark) >= 4:
        converter = _object(spark, "org.apache.spark.sql.classic.ColumnNodeToExpressionConverter")
        return converter.apply(value._jc.node())
    return value._jc.expr()


def parse_names(spark: SparkSession, text: str) -> tuple[str, ...] | None:
    """The names of a list that has nothing but names, or None."""
    try:
        plan = parse(spark, f"CREATE TEMPORARY VIEW v ({text}) AS SELECT 1")
    except ParseException:
        return None
    columns = [(c._1(), c._2()) for c in _list(plan.productElement(1))]
    return tuple(name for name, _ in columns)


# -- Hadoop file systems --------------------------------------------------------------------------


def hadoop_conf(spark: SparkSession) -> JavaObject:
    """The session's Hadoop configuration, a copy as of now."""
    return spark._jsparkSession.sessionState().newHadoopConf()


def hadoop_path(spark: SparkSession, path: str, conf: JavaObject) -> tuple[JavaObject, JavaObject]:
    """The file system of a path and the qualified path."""
    raw = _class(spark, "org.apache.hadoop.fs.Path")(path)
    filesystem = raw.getFileSystem(conf)
    return filesystem, filesystem.makeQualified(raw)


def list_names(
    spark: SparkSession, filesystem: JavaObject, path: JavaObject
) -> tuple[list[str], JavaObject]:
    """Names in a directory and the Java array of their ``FileStatus``.

    One call lists, one fetches all paths as text: a getter per file would cost a round trip each.
    The text is cut at ``, <directory>/``, which no file name can contain because of its slash.
    """
    statuses = filesystem.listStatus(path)
    text = _class(spark, "scala.runtime.ScalaRunTime").stringOf(
        _class(spark, "org.apache.hadoop.fs.FileUtil").stat2Paths(statuses)
    )
    body = text[len("Array(") : -1]
    prefix = str(path.toString()).rstrip("/") + "/"
    if not body:
        return [], statuses
    return body[len(prefix) :].split(", " + prefix), statuses


def list_sizes(statuses: JavaObject) -> list[tuple[str, bool, int]]:
    """(name, is a directory, bytes) of each entry of a listing; a few calls per entry, for small
    listings.
    """
    return [(s.getPath().getName(), s.isDirectory(), s.getLen()) for s in statuses]


def read_bytes(
    spark: SparkSession, filesystem: JavaObject, path: JavaObject, start: int, length: int
) -> bytes:
    """``length`` bytes of a file from ``start``."""
    stream = filesystem.open(path)
    try:
        stream.seek(start)
        return bytes(_class(spark, "org.apache.commons.io.IOUtils").toByteArray(stream, length))
    finally:
        stream.close()


def write_bytes(filesystem: JavaObject, path: JavaObject, content: bytes) -> None:
    """Create a file (it must not exist) with this content."""
    stream = filesystem.create(path, False)
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()


def append_bytes(filesystem: JavaObject, path: JavaObject, content: bytes) -> None:
    """Append to a file, on file systems that can."""
    stream = filesystem.append(path)
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()


def delete_if_empty(filesystem: JavaObject, path: JavaObject) -> bool:
    """Delete a directory unless something is in it; whether it is gone."""
    if filesystem.exists(path) and len(filesystem.listStatus(path)) > 0:
        return False
    try:
        filesystem.delete(path, False)
    except Py4JJavaError:
        if filesystem.exists(path) and len(filesystem.listStatus(path)) > 0:
            return False
        raise
    return True


def jvm_time_zone(spark: SparkSession) -> str:
    """The JVM's default time zone, in which Spark's ORC writer stores wall clocks."""
    return str(_class(spark, "java.util.TimeZone").getDefault().getID())


# -- relations ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScanDirectory:
    """A directory of bucket files to scan.

    Attributes:
        path: qualified Hadoop path (Java object).
        statuses: the Java ``FileStatus[]`` of its listing.
        files: names of the files to read, or None for all of the listing that are not hidden.
        ordinal: a number that every row of the directory carries (as its file modification time),
            or None.
    """

    path: JavaObject
    statuses: JavaObject
    files: tuple[str, ...] | None = None
    ordinal: int | None = None


@dataclass(frozen=True)
class Relation:
    """A scan, and a weak reference to its file index: while any plan can reach the index, it can
    run.
    """

    frame: DataFrame
    index: JavaObject


def _scan_statuses(spark: SparkSession, directory: ScanDirectory) -> JavaObject:
    if directory.files is None and directory.ordinal is None:
        return directory.statuses
    file_status = _class(spark, "org.apache.hadoop.fs.FileStatus")
    chosen = []
    for status in directory.statuses:
        path = status.getPath()
        if directory.files is not None and path.getName() not in directory.files:
            continue
        ordinal = directory.ordinal
        chosen.append(
            status
            if ordinal is None
            else file_status(status.getLen(), False, 1, status.getBlockSize(), ordinal, path)
        )
    array = spark.sparkContext._gateway.new_array(
        _class(spark, "org.apache.hadoop.fs.FileStatus"), len(chosen)
    )
    for i, status in enumerate(chosen):
        array[i] = status
    return array


def orc_relation(
    spark: SparkSession,
    directories: Sequence[ScanDirectory],
    schema: StructType,
    options: Mapping[str, str],
) -> Relation:
    """A DataFrame over the files of some directories, through Spark's own ORC file format.

    The listings that the caller made are handed over in Spark's file status cache, so that nothing
    is listed twice. The format class is named, so that settings of the session
    (``spark.sql.orc.impl``, V2 sources) cannot choose another reader.
    """
    relation, index = _file_relation(spark, directories, schema, options, StructType([]))
    frame = DataFrame(spark._jsparkSession.baseRelationToDataFrame(relation), spark)
    return Relation(frame=frame, index=_class(spark, "java.lang.ref.WeakReference")(index))


def _file_relation(
    spark: SparkSession,
    directories: Sequence[ScanDirectory],
    schema: StructType,
    options: Mapping[str, str],
    partitions: StructType,
) -> tuple[JavaObject, JavaObject]:
    """A ``HadoopFsRelation`` and its file index."""
    session = spark._jsparkSession
    cache = _object(spark, f"{_SOURCES}.FileStatusCache").getOrCreate(session)
    for directory in directories:
        cache.putLeafFiles(directory.path, _scan_statuses(spark, directory))
    nothing = _class(spark, "scala.Option").empty()
    index = _class(spark, f"{_SOURCES}.InMemoryFileIndex")(
        session,
        _seq(spark, [d.path for d in directories]),
        _map(spark, {}),
        _class(spark, "scala.Some")(_type(spark, schema)),
        cache,
        nothing,
        nothing,
    )
    relation = _class(spark, f"{_SOURCES}.HadoopFsRelation")(
        index,
        _type(spark, partitions),
        _type(spark, schema),
        nothing,
        _class(spark, f"{_SOURCES}.orc.OrcFileFormat")(),
        _map(spark, dict(options)),
        session,
    )
    return relation, index


def reachable(relation_index: JavaObject) -> bool:
    """Whether any plan can still reach the file index behind this weak reference."""
    return relation_index.get() is not None


def collect_garbage(spark: SparkSession) -> None:
    """Ask Python and the JVM to find unreachable objects now."""
    gc.collect()
    _drop_dead_proxies(spark)
    _class(spark, "java.lang.System").gc()


def _drop_dead_proxies(spark: SparkSession) -> None:
    """Have the JVM forget the objects whose Python proxies are gone.

    py4j's worker does the same, once a second: too late for a collection that follows at once.
    """
    pending = getattr(spark.sparkContext._gateway._gateway_client, "finalizer_deque", ())
    while pending:
        try:
            task = pending.pop()
        except IndexError:  # the worker was faster
            return
        if not isinstance(task, tuple):  # the order to the worker to end
            pending.append(task)
            return
        client, target_id = task
        client.garbage_collect_object(target_id, False)


# -- plans ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reference:
    """A reference to a relation in a statement: its name's parts and where the name stands.

    ``start`` and ``end`` (exclusive) are offsets in code points of the text, None where unknown.
    ``node`` is to be replaced; where it is an alias over the relation, ``alias`` is its name.
    """

    parts: tuple[str, ...]
    start: int | None
    end: int | None
    node: JavaObject
    alias: str | None = None


def substitute_variables(spark: SparkSession, text: str) -> str:
    """The text with ``${…}`` replaced from the configuration, as Spark does before it parses."""
    return str(
        _class(spark, "org.apache.spark.sql.internal.VariableSubstitution")().substitute(text)
    )


def parse(spark: SparkSession, text: str) -> JavaObject:
    """Spark's unresolved plan of a statement."""
    return spark._jsparkSession.sessionState().sqlParser().parsePlan(text)


def parse_name(spark: SparkSession, text: str) -> tuple[str, ...]:
    """The parts of a multi-part identifier."""
    return tuple(
        _list(spark._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(text))
    )


def substitute_ctes(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """The plan with the references to its common table expressions resolved by Spark's own rule."""
    return _class(spark, f"{_CATALYST}.analysis.CTESubstitution").apply(plan)


def references(spark: SparkSession, plan: JavaObject) -> list[Reference]:
    """The unresolved relations of a plan and of all its subqueries."""
    trees = [plan, *_list(plan.subqueriesAll())]
    if _major(spark) >= 4:
        leaves = [leaf for tree in trees for leaf in _list(tree.collectLeaves())]
        return [_reference(leaf) for leaf in leaves if _name(leaf) == "UnresolvedRelation"]
    return [reference for tree in trees for reference in _aliased_references(tree)]


def _reference(leaf: JavaObject) -> Reference:
    origin = leaf.origin()
    start, stop = origin.startIndex(), origin.stopIndex()
    known = start.isDefined() and stop.isDefined()
    return Reference(
        parts=tuple(_list(leaf.multipartIdentifier())),
        start=start.get() if known else None,
        end=stop.get() + 1 if known else None,
        node=leaf,
    )


def _aliased_references(tree: JavaObject) -> list[Reference]:
    """References with their aliases: Spark 3.5 does not see hidden columns through an alias."""
    if _name(tree) == "UnresolvedRelation":
        return [_reference(tree)]
    if _name(tree) == "SubqueryAlias" and _name(tree.child()) == "UnresolvedRelation":
        return [replace(_reference(tree.child()), node=tree, alias=str(tree.alias()))]
    return [r for child in _list(tree.children()) for r in _aliased_references(child)]


def replace_relations(
    spark: SparkSession, plan: JavaObject, relations: Mapping[JavaObject, JavaObject]
) -> JavaObject:
    """The plan with these unresolved relations replaced, in its subqueries too."""
    return plan.transformDownWithSubqueries(_map(spark, relations))


def logical_plan(frame: DataFrame) -> JavaObject:
    """The analysed plan of a DataFrame."""
    return frame._jdf.queryExecution().analyzed()


def input_bytes(frame: DataFrame) -> int:
    """Spark's estimate of what a plan reads: the bytes of its leaves, and of its subqueries'."""
    plan = logical_plan(frame)
    trees = [plan, *_list(plan.subqueriesAll())]
    leaves = [leaf for tree in trees for leaf in _list(tree.collectLeaves())]
    return sum(int(str(leaf.stats().sizeInBytes())) for leaf in leaves)


def rebalance(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Shuffle by columns into partitions of sensible size (PySpark 3.5's hint takes no columns)."""
    spark = frame.sparkSession
    names = [col(c)._jc if _major(spark) >= 4 else col(c)._jc.expr() for c in columns]
    hinted = frame._jdf.hint("rebalance", _seq(spark, names))
    return DataFrame(hinted, spark)


def frame_of(spark: SparkSession, plan: JavaObject) -> DataFrame:
    """The DataFrame of a plan; analyses it, and runs it if it is a command."""
    package = "org.apache.spark.sql"
    dataset = _class(
        spark, f"{package}.classic.Dataset" if _major(spark) >= 4 else f"{package}.Dataset"
    )
    return DataFrame(dataset.ofRows(spark._jsparkSession, plan), spark)


def hide_columns(
    spark: SparkSession, frame: DataFrame, hidden: Sequence[str], name: Sequence[str]
) -> JavaObject:
    """A plan named ``name`` whose ``hidden`` columns can be selected by name but are not in ``*``.

    Spark resolves the hidden columns of a projection as it does those of a USING join.
    """
    plan = logical_plan(frame)
    output = _list(plan.output())
    if _major(spark) < 4:
        qualifier = _seq(spark, list(name))
        output = [attribute.withQualifier(qualifier) for attribute in output]
    logical = f"{_CATALYST}.plans.logical"
    visible = [a for a in output if a.name() not in hidden]
    project = _class(spark, f"{logical}.Project")(_seq(spark, visible), plan)
    tag = _object(spark, f"{_CATALYST}.plans.logical.Project").hiddenOutputTag()
    project.setTagValue(tag, _seq(spark, output))
    if _major(spark) < 4:
        return project
    alias = _class(spark, f"{_CATALYST}.AliasIdentifier")(name[-1], _seq(spark, list(name[:-1])))
    return _class(spark, f"{logical}.SubqueryAlias")(alias, project)


def _exposed(spark: SparkSession, table: JavaObject) -> JavaObject:
    """The analysed plan of ``hide_columns`` with its hidden columns in its output.

    Spark 3.5 loses the mark of the projection when it analyses it.
    """
    if _name(table) == "SubqueryAlias":
        return _copy(spark, table, {1: _exposed(spark, table.child())})
    shown = {a.exprId().id() for a in _list(table.output())}
    hidden = [a for a in _list(table.child().output()) if a.exprId().id() not in shown]
    columns = [*_list(table.projectList()), *hidden]
    return _copy(spark, table, {0: _seq(spark, columns)})


def is_temp_view(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Whether the name is a temporary view (or a global one, with its database)."""
    return bool(spark._jsparkSession.sessionState().catalog().isTempView(_seq(spark, list(parts))))


def temp_view(spark: SparkSession, name: str) -> JavaObject | None:
    """Spark's definition of a local temporary view, to be compared with a later one."""
    found = spark._jsparkSession.sessionState().catalog().getRawTempView(name)
    return found.get() if found.isDefined() else None


def same(one: JavaObject, other: JavaObject) -> bool:
    """Whether two Java objects are equal."""
    return bool(one.equals(other))


def insert_into_files(
    spark: SparkSession,
    plan: JavaObject,
    path: JavaObject,
    schema: StructType,
    partitions: StructType,
) -> JavaObject:
    """An ``InsertIntoStatement`` whose target is an empty file relation of these columns.

    It is analysed, so that Spark resolves partition values, column lists and defaults and casts by
    its store-assignment policy, and never run.
    """
    nothing = spark.sparkContext._gateway.new_array(
        _class(spark, "org.apache.hadoop.fs.FileStatus"), 0
    )
    directory = ScanDirectory(path=path, statuses=nothing)
    relation = _file_relation(spark, [directory], schema, {}, partitions)[0]
    logical = _object(spark, "org.apache.spark.sql.execution.datasources.LogicalRelation")
    return _copy(spark, plan, {_INSERT_TABLE: logical.apply(relation, False)})


def plan_kind(plan: JavaObject) -> str:
    """Class name of a plan's root."""
    return _name(plan)


def analyze(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """The analysed and checked plan, not executed even if it is a command."""
    skip = _class(spark, "org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    execution = spark._jsparkSession.sessionState().executePlan(plan, skip)
    execution.assertAnalyzed()
    return execution.analyzed()


def insert_query(spark: SparkSession, plan: JavaObject) -> DataFrame:
    """The query of an analysed INSERT: columns in the table's order, cast by the store-assignment
    policy.
    """
    return frame_of(spark, plan.query())


# -- row-level commands
# -----------------------------------------------------------------------------

# Positions of constructor arguments, the same in all versions tried.
_INSERT_TABLE = 0
_UPDATE_ASSIGNMENTS, _UPDATE_CONDITION = 1, 2
_MERGE_CONDITION, _MERGE_MATCHED, _MERGE_NOT_MATCHED, _MERGE_NOT_MATCHED_BY_SOURCE = 2, 3, 4, 5
_ACTION_ASSIGNMENTS = 1


def _align(
    spark: SparkSession, method: str, attributes: JavaObject, assignments: JavaObject
) -> JavaObject:
    """Spark's own alignment of assignments with a table's columns: one value per column, in order,
    cast.
    """
    utils = _class(spark, f"{_CATALYST}.analysis.AssignmentUtils")
    java_class = _class(spark, "java.lang.Class").forName(f"{_CATALYST}.analysis.AssignmentUtils")
    arity = next(m.getParameterCount() for m in java_class.getMethods() if m.getName() == method)
    return getattr(utils, method)(attributes, assignments, *([False] * (arity - 2)))


def _never_resolved(spark: SparkSession) -> JavaObject:
    """An expression that no rule can resolve and none complains of: a cast that does not exist."""
    return spark._jsparkSession.sessionState().sqlParser().parseExpression("CAST(array(1) AS INT)")


def _analyze_partly(
    spark: SparkSession, plan: JavaObject, position: int, condition: JavaObject
) -> JavaObject:
    """Resolve a command's expressions and stop before Spark casts its assignments for itself.

    That rule acts on resolved commands only, so a condition that stays unresolved holds it back;
    the casts of ``AssignmentUtils``, which follow the store-assignment policy, are made later.
    """
    held = _copy(spark, plan, {position: condition})
    return spark._jsparkSession.sessionState().analyzer().execute(held)


def _resolved(assignments: JavaObject) -> bool:
    return all(a.resolved() for a in _list(assignments))


def analyze_update(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """The analysed ``UpdateTable``, with one assignment per column of the table, in its order."""
    some = _class(spark, "scala.Some")
    partly = _analyze_partly(spark, plan, _UPDATE_CONDITION, some(_never_resolved(spark)))
    assignments = partly.assignments()
    if not (_resolved(assignments) and partly.table().resolved()):
        return analyze(spark, plan)
    aligned = _align(spark, "alignUpdateAssignments", partly.table().output(), assignments)
    condition = plan.productElement(_UPDATE_CONDITION)
    whole = _copy(spark, partly, {_UPDATE_ASSIGNMENTS: aligned, _UPDATE_CONDITION: condition})
    return analyze(spark, whole)


def analyze_merge(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """The analysed ``MergeIntoTable``, each action with one assignment per column of the table, in
    its order.
    """
    both = _class(spark, f"{_CATALYST}.expressions.And")
    held = both(plan.productElement(_MERGE_CONDITION), _never_resolved(spark))
    partly = _analyze_partly(spark, plan, _MERGE_CONDITION, held)
    on = partly.mergeCondition().left()
    _check_merge_condition(spark, "ON", on)
    changes: dict[int, JavaObject] = {_MERGE_CONDITION: on}
    for position in (_MERGE_MATCHED, _MERGE_NOT_MATCHED, _MERGE_NOT_MATCHED_BY_SOURCE):
        actions = []
        for action in _list(partly.productElement(position)):
            if action.condition().isDefined():
                _check_merge_condition(spark, "WHEN", action.condition().get())
            if not action.resolved():
                return analyze(spark, plan)
            actions.append(_aligned_action(spark, partly.targetTable().output(), action))
        changes[position] = _seq(spark, actions)
    # Not checked as a command, which would refuse rand() in values; its parts are, where they are
    # used.
    return spark._jsparkSession.sessionState().analyzer().execute(_copy(spark, partly, changes))


def _check_merge_condition(spark: SparkSession, clause: str, condition: JavaObject) -> None:
    """Refuse what Spark refuses in MERGE conditions, under its names."""
    if not condition.resolved():
        return
    subqueries = _object(spark, f"{_CATALYST}.expressions.SubqueryExpression")
    patterns = _class(spark, f"{_CATALYST}.trees.TreePattern")
    problems = {
        "SUBQUERY": subqueries.hasSubquery(condition),
        "AGGREGATE": condition.containsPattern(patterns.AGGREGATE_EXPRESSION()),
        "NON_DETERMINISTIC": not condition.deterministic(),
    }
    for problem, found in problems.items():
        if found:
            raise AcidAnalysisError(
                f"UNSUPPORTED_MERGE_CONDITION.{problem}",
                f"the {clause} condition {condition.sql()} of MERGE holds something that it may "
                f"not "
                f"({problem.lower().replace('_', ' ')}): compute it in the source instead",
            )


def _aligned_action(spark: SparkSession, output: JavaObject, action: JavaObject) -> JavaObject:
    kind = _name(action)
    if kind == "DeleteAction":
        return action
    method = "alignInsertAssignments" if kind == "InsertAction" else "alignUpdateAssignments"
    aligned = _align(spark, method, output, action.assignments())
    return _copy(spark, action, {_ACTION_ASSIGNMENTS: aligned})


@dataclass(frozen=True)
class Clause:
    """A WHEN clause of an analysed MERGE: ``kind`` is update, delete or insert; ``values`` one per
    column.
    """

    kind: str
    condition: Column | None
    values: tuple[Column, ...]


@dataclass(frozen=True)
class MergePlan:
    """The pieces of an analysed MERGE."""

    target: JavaObject
    source: JavaObject
    condition: JavaObject
    matched: tuple[Clause, ...]
    not_matched: tuple[Clause, ...]
    not_matched_by_source: tuple[Clause, ...]


_CLAUSE_KINDS = {"UpdateAction": "update", "DeleteAction": "delete", "InsertAction": "insert"}


def column(spark: SparkSession, expression: JavaObject) -> Column:
    """A PySpark column of a resolved Catalyst expression."""
    if _major(spark) >= 4:
        return Column(
            _object(spark, "org.apache.spark.sql.classic.ExpressionUtils").column(expression)
        )
    return Column(_class(spark, "org.apache.spark.sql.Column")(expression))


def _option(spark: SparkSession, option: JavaObject) -> Column | None:
    return column(spark, option.get()) if option.isDefined() else None


def _values(spark: SparkSession, assignments: JavaObject) -> tuple[Column, ...]:
    return tuple(column(spark, a.value()) for a in _list(assignments))


def opaque(spark: SparkSession, value: Column, *, nullable: bool) -> Column:
    """The same value, as an expression that Spark cannot push into a scan, at no cost when it runs.

    Spark would push ``row.c = 5``, under a name that ORC does not know in ACID files, and ORC fails
    on a comparison with NULL, which an empty scalar subquery becomes.
    """
    tag = "KnownNullable" if nullable else "KnownNotNull"
    tagged = _class(spark, f"{_CATALYST}.expressions.{tag}")(_expression(spark, value))
    return column(spark, tagged)


def merge_pieces(spark: SparkSession, plan: JavaObject) -> MergePlan:
    """Take an analysed ``MergeIntoTable`` apart."""

    def clauses(actions: JavaObject) -> tuple[Clause, ...]:
        return tuple(
            Clause(
                kind=_CLAUSE_KINDS[_name(action)],
                condition=_option(spark, action.condition()),
                values=()
                if _name(action) == "DeleteAction"
                else _values(spark, action.assignments()),
            )
            for action in _list(actions)
        )

    return MergePlan(
        target=_exposed(spark, plan.targetTable()),
        source=plan.sourceTable(),
        condition=plan.mergeCondition(),
        matched=clauses(plan.matchedActions()),
        not_matched=clauses(plan.notMatchedActions()),
        not_matched_by_source=clauses(plan.notMatchedBySourceActions()),
    )


def update_pieces(spark: SparkSession, plan: JavaObject) -> tuple[DataFrame, tuple[Column, ...]]:
    """The rows that an analysed ``UpdateTable`` matches, and their new values."""
    table = _exposed(spark, plan.table())
    rows = frame_of(spark, _filtered(spark, table, plan.condition()))
    return rows, _values(spark, plan.assignments())


def delete_rows(spark: SparkSession, plan: JavaObject) -> DataFrame:
    """The rows that an analysed ``DeleteFromTable`` matches."""
    table = _exposed(spark, plan.table())
    return frame_of(spark, _with_condition(spark, table, plan.condition()))


def _filtered(spark: SparkSession, table: JavaObject, condition: JavaObject) -> JavaObject:
    return _with_condition(spark, table, condition.get()) if condition.isDefined() else table


def _with_condition(spark: SparkSession, table: JavaObject, condition: JavaObject) -> JavaObject:
    if condition.resolved() and condition.dataType().typeName() == "void":
        parser = spark._jsparkSession.sessionState().sqlParser()
        condition = parser.parseExpression("CAST(NULL AS BOOLEAN)")
    return _class(spark, "org.apache.spark.sql.catalyst.plans.logical.Filter")(condition, table)


def join(
    spark: SparkSession, left: DataFrame, right: DataFrame, kind: str, condition: JavaObject
) -> DataFrame:
    """Join two analysed DataFrames on a resolved condition (``kind``: Spark's name, as ``left
    outer``).
    """
    join_type = _class(spark, f"{_CATALYST}.plans.JoinType").apply(kind)
    none = _object(spark, f"{_CATALYST}.plans.logical.JoinHint").NONE()
    plan = _class(spark, f"{_CATALYST}.plans.logical.Join")(
        logical_plan(left),
        logical_plan(right),
        join_type,
        _class(spark, "scala.Some")(condition),
        none,
    )
    return frame_of(spark, plan)


def explain(frame: DataFrame, mode: str) -> str:
    """The text of EXPLAIN for a DataFrame."""
    spark = frame.sparkSession
    explain_mode = _class(spark, "org.apache.spark.sql.execution.ExplainMode").fromString(mode)
    return str(frame._jdf.queryExecution().explainString(explain_mode))
