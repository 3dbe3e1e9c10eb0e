"""Statements of clients of Spark's servers, which a Python function runs.

The classes that extend Spark's servers are compiled from ``java_sources``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from py4j.clientserver import ClientServer
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from acidsql.bridge.gateway import callback_client
from acidsql.bridge.java_sources import PACKAGE, compiled, loaded, source_text
from acidsql.bridge.jvm import JavaObject, LogicalPlan, jvm_class, scala_seq
from acidsql.errors import AcidAnalysisError

_SHARED = "ClientStatements.java"
_PARSER = "org.apache.spark.sql.catalyst.parser.ParserInterface"
_COMMAND_RESULT = "org.apache.spark.sql.catalyst.plans.logical.CommandResult"
# Placeholder in the shared source for the methods of the interface, which differ between releases.
_METHODS = "  // The methods of this release's ParserInterface.\n"
# Placeholder in the sources for the common members of exceptions, whose base classes differ.
_ERROR = "  // What clients see of an error.\n"
_ERROR_MEMBERS = """
  private String message;
  private String condition;
  private String sqlState;
  private Map parameters;

  private void setError(String message, String condition, String sqlState, Map parameters) {
    this.message = message;
    this.condition = condition;
    this.sqlState = sqlState;
    this.parameters = parameters;
  }

  public String getMessage() {
    return message;
  }

  public String getCondition() {
    return condition;
  }

  public String getErrorClass() {
    return condition;
  }

  public String getSqlState() {
    return sqlState;
  }

  public Map getMessageParameters() {
    return parameters;
  }

  /** Has no trace of calls, which Spark would send to its clients. */
  public Throwable fillInStackTrace() {
    return this;
  }
"""

Ask = Callable[[str, JavaObject, str | None], Any]
"""Answers a server's request: takes the name of the request, the Java session and a text."""

ErrorClass = Callable[[Exception], str | None]
"""Returns the name of the compiled Java class that represents a Python error; None for an error of
the JVM, which is not converted.
"""


class ServerClasses:
    """Java classes of a server, compiled in the driver.

    Attributes:
        requested: the ``Asked`` object for the server's constructor.
    """

    def __init__(
        self,
        spark: SparkSession,
        source: str,
        names: Mapping[str, str],
        ask: Ask,
        error_class: ErrorClass,
    ) -> None:
        """Compile the source of a server and the source that all servers share.

        Args:
            spark: the session.
            source: file name of the server's source.
            names: replacements for placeholders in the source, which depend on the release.
            ask: answers the server's requests, in the JVM thread that waits for the answer.
            error_class: see ``ErrorClass``. The constructor of the class takes a message, a
                condition, a SQLSTATE and the parameters.
        """
        self._spark = spark
        text = source_text(source, {**names, _ERROR: _ERROR_MEMBERS})
        self._loader = compiled(spark, text, _shared_text(spark))
        python = callback_client(spark)
        answers = _answers(partial(_answer, self, ask, error_class))
        self.requested = self.new("Asked", answers, python)

    def new(self, name: str, *arguments: Any) -> JavaObject:
        """Make an object of a compiled class that has one constructor."""
        constructor = self._loader.loadClass(f"{PACKAGE}.{name}").getDeclaredConstructors()[0]
        constructor.setAccessible(True)
        # py4j cannot put Python objects into an array.
        return constructor.newInstance(self.list_of(arguments).toArray())

    def list_of(self, elements: Any) -> JavaObject:
        """Make a ``java.util.List``."""
        listed = jvm_class(self._spark, "java.util.ArrayList")()
        for element in elements:
            listed.add(element)
        return listed

    def error(self, name: str, error: Exception) -> JavaObject:
        """Make the Java exception that represents a Python error."""
        condition: str | None = None
        state: str | None = None
        parameters: Mapping[str, str] = {}
        if isinstance(error, PySparkException):
            getter = getattr(error, "getCondition", None) or error.getErrorClass
            condition, state = getter(), error.getSqlState()
            parameters = dict(error.getMessageParameters() or {})
            message = str(error).strip()
        elif isinstance(error, Py4JJavaError):
            message = str(error.java_exception)
        else:
            message = f"{type(error).__name__}: {error}"
        java = jvm_class(self._spark, "java.util.HashMap")()
        for key, value in parameters.items():
            java[key] = value
        return self.new(name, message, condition, state, java)


def check_threads(spark: SparkSession, condition: str) -> None:
    """Check that each JVM thread has its own Python thread, so that it can send requests.

    Args:
        spark: the session.
        condition: condition of the error.

    Raises:
        AcidAnalysisError: JVM threads do not have their own Python threads.
    """
    if not isinstance(spark.sparkContext._gateway, ClientServer):
        raise AcidAnalysisError(
            condition, "threads of Python are not those of the JVM: unset PYSPARK_PIN_THREAD"
        )


def session_of(spark: SparkSession, session: JavaObject) -> SparkSession:
    """Return the Python handle of a Java session of the same application."""
    return SparkSession(spark.sparkContext, session)


def executed_command(frame: DataFrame) -> LogicalPlan:
    """Return the rows of a command's result as the plan of an executed command.

    Spark Connect sends the rows of this plan to the client. For any other plan, it makes the client
    send the statement's text again.
    """
    execution = frame._jdf.queryExecution()
    plan = execution.commandExecuted()
    if plan.getClass().getName() == _COMMAND_RESULT:
        return plan
    physical = execution.executedPlan()
    rows = scala_seq(frame.sparkSession, list(physical.executeCollect()))
    command = jvm_class(frame.sparkSession, _COMMAND_RESULT)
    return command(plan.output(), plan, physical, rows)


def java_error(error: Exception) -> JavaObject | None:
    """Return the JVM exception that a PySpark error wraps; None for other errors."""
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    return getattr(error, "_origin", None)


def _shared_text(spark: SparkSession) -> str:
    """Return the text of the classes that the servers share."""
    return source_text(_SHARED, {_METHODS: "\n".join(_parser_methods(spark))})


def _parser_methods(spark: SparkSession) -> Iterator[str]:
    """Yield the methods of a parser that calls Python first, and then Spark's parser if necessary.

    They are generated for this release. A ``java.lang.reflect.Proxy`` could not throw an
    AnalysisException, because the Scala interface does not declare it.
    """
    modifier = jvm_class(spark, "java.lang.reflect.Modifier")
    for method in loaded(spark, _PARSER).getMethods():
        if modifier.isStatic(method.getModifiers()):
            continue
        name = str(method.getName())
        types = [str(kind.getCanonicalName()) for kind in method.getParameterTypes()]
        result = str(method.getReturnType().getCanonicalName())
        taken = ", ".join(f"{kind} a{i}" for i, kind in enumerate(types))
        call = f"spark.{name}({', '.join(f'a{i}' for i in range(len(types)))})"
        body = f"return {call};"
        if name.startswith("parsePlan"):
            parameters = "a1" if len(types) > 1 else "null"
            answered = f"LogicalPlan plan = asked(a0, {parameters});"
            body = f"{answered} return plan != null ? plan : {call};"
        yield f"  public {result} {name}({taken}) throws Throwable {{ {body} }}\n"


def _answers(answer: Callable[[str, JavaObject, str | None], Any]) -> object:
    """Return the callback through which the JVM calls Python."""

    class Answers:
        __slots__ = ()

        def apply(self, question: str, session: JavaObject, text: str | None) -> Any:
            return answer(question, session, text)

        class Java:
            implements = ("scala.Function3",)

    return Answers()


def _answer(
    classes: ServerClasses,
    ask: Ask,
    error_class: ErrorClass,
    question: str,
    session: JavaObject,
    text: str | None,
) -> Any:
    """Convert an answer for Java: a DataFrame to its plan, an error to an exception."""
    try:
        answer = ask(question, session, text)
        if isinstance(answer, list):
            return classes.list_of(_plan(one) for one in answer)
        return _plan(answer)
    except Exception as error:  # noqa: BLE001 - the client gets it
        return (
            java_error(error)
            if (name := error_class(error)) is None
            else classes.error(name, error)
        )


def _plan(answer: Any) -> Any:
    if isinstance(answer, DataFrame):
        # A command has already run. This plan contains its result and does not run it again.
        return answer._jdf.queryExecution().commandExecuted()
    return answer
