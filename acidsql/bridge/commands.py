"""Tables that Spark's commands look up and paths that they write, read from parsed plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from py4j.java_gateway import is_instance_of
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import Expression, JavaObject, LogicalPlan, elements, simple_name

# Leaves whose names Spark's analyser looks up in its own catalog.
_LOOKED_UP = ("UnresolvedTable", "UnresolvedTableOrView", "UnresolvedView")
# Nodes that can contain commands: several INSERTs of one FROM, WITH, and the nodes of scripts.
_ABOVE = (
    "Union", "WithCTE", "UnresolvedWith",
    "CaseStatement", "CompoundBody", "ForStatement", "IfElseStatement", "LoopStatement",
    "RepeatStatement", "SimpleCaseStatement", "WhileStatement",
)  # fmt: skip
_COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command"
# Writes that are not commands before the analysis.
_INSERTS = ("InsertIntoStatement", "InsertIntoDir")
# Commands that change only the state of the session.
_OF_SESSION = frozenset(
    {
        "AddArchivesCommand", "AddFilesCommand", "AddJarsCommand", "CacheTable",
        "CacheTableAsSelect", "ClearCacheCommand", "CreateTempViewUsing", "CreateVariable",
        "CreateViewCommand", "DropVariable", "ExplainCommand", "RefreshFunction",
        "RefreshResource", "RefreshTable", "ResetCommand", "SetCatalogAndNamespace",
        "SetCatalogCommand", "SetCommand", "SetNamespaceCommand", "SetVariable", "UncacheTable",
    }
)  # fmt: skip
_READING = ("Describe", "List", "Show")
# Plans whose statements are known only when they run: EXECUTE IMMEDIATE (before Spark 4.1, and
# later), and a script.
_LATER = {
    "ExecuteImmediateQuery": "EXECUTE IMMEDIATE",
    "UnresolvedExecuteImmediate": "EXECUTE IMMEDIATE",
    "CompoundBody": "a script",
}


@dataclass(frozen=True)
class Command:
    """Command in a parsed plan of Spark.

    Attributes:
        name: class of the plan, in upper case with underscores (``CREATE_TABLE``).
        tables: names that Spark looks up in its own catalog, each split into parts.
        paths: directories that the command writes to, or makes the location of a table or
            partition.
    """

    name: str
    tables: Sequence[tuple[str, ...]]
    paths: Sequence[str]


def commands(plan: LogicalPlan) -> Iterator[Command]:
    """Yield the commands in a parsed plan that look up a table or name a path.

    A query has none. Each child of a union (several INSERTs of one FROM) or WITH is searched.
    """
    kind = simple_name(plan)
    if kind == "SingleStatement":  # its children are the children of its plan
        yield from commands(plan.parsedPlan())
        return
    if kind in _ABOVE:
        for node in elements(plan.children()):
            yield from commands(node)
        return
    tables = _looked_up(plan)
    paths = _PATHS[kind](plan) if kind in _PATHS else []
    if tables or paths:
        yield Command(name=_screaming(kind), tables=tables, paths=paths)


def written_by(spark: SparkSession, plan: LogicalPlan) -> str | None:
    """Return the name of a parsed statement that may write to a table, directory or the catalog.

    Return None for a query, or for a command that affects only the session.
    """
    kind = simple_name(plan)
    if kind in _LATER:
        return _LATER[kind]
    if kind == "SingleStatement":
        return written_by(spark, plan.parsedPlan())
    if kind in _ABOVE:
        names = (written_by(spark, node) for node in elements(plan.children()))
        return next(filter(None, names), None)
    is_command = is_instance_of(spark.sparkContext._gateway, plan, _COMMAND)
    if kind not in _INSERTS and (
        not is_command or kind in _OF_SESSION or kind.startswith(_READING)
    ):
        return None
    return _screaming(kind.removesuffix("Statement")).replace("_", " ")


def _looked_up(plan: LogicalPlan) -> list[tuple[str, ...]]:
    if simple_name(plan) == "CreateTableLikeCommand":
        source = plan.sourceTable()
        return [(*_option(source.database()), str(source.table()))]
    leaves = [leaf for leaf in elements(plan.children()) if simple_name(leaf) in _LOOKED_UP]
    return [tuple(elements(leaf.multipartIdentifier())) for leaf in leaves]


def _screaming(name: str) -> str:
    words = name.removesuffix("Command")
    return "".join(f"_{c}" if c.isupper() else c.upper() for c in words).removeprefix("_")


def _option(value: Expression) -> list[str]:
    return [str(value.get())] if value.isDefined() else []


def _directory(plan: LogicalPlan) -> list[str]:
    return [unquote(uri) for uri in _option(plan.storage().locationUri())]


def _inserted(plan: LogicalPlan) -> list[str]:
    """Return the path if the target of an INSERT is a path such as ``orc.`/path` ``."""
    target = plan.table()
    if simple_name(target) != "UnresolvedRelation":
        return []
    parts = elements(target.multipartIdentifier())
    return [parts[1]] if len(parts) == 2 and "/" in parts[1] else []


def _created(plan: LogicalPlan) -> list[str]:
    spec = plan.tableSpec()
    paths = _option(spec.location())
    for pair in elements(spec.optionExpression().options()):
        if pair._1().lower() == "path":
            paths.append(str(pair._2().toString()))
    return paths


def _like_before_4_2(plan: LogicalPlan) -> list[str]:
    return [unquote(uri) for uri in _option(plan.fileFormat().locationUri())]


def _moved(plan: LogicalPlan) -> list[str]:
    return [str(plan.location())]


def _like(plan: LogicalPlan) -> list[str]:
    return _option(plan.location())


def _added(plan: LogicalPlan) -> list[str]:
    return [path for part in elements(plan.parts()) for path in _option(part.location())]


_PATHS: Mapping[str, Callable[[JavaObject], list[str]]] = {
    "InsertIntoDir": _directory,
    "InsertIntoStatement": _inserted,
    "CreateTable": _created,
    "CreateTableAsSelect": _created,
    "ReplaceTable": _created,
    "ReplaceTableAsSelect": _created,
    "CreateTableLike": _like,
    "CreateTableLikeCommand": _like_before_4_2,
    "SetTableLocation": _moved,
    "AddPartitions": _added,
}
