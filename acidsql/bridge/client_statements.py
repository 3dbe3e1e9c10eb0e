"""Statements of the clients of Spark's servers, which a function in Python runs.

What is added to Spark's classes are ``java_sources``.
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
# Stands in the shared source for the methods of the interface, which differ between releases.
_METHODS = "  // The methods of this release's ParserInterface.\n"
# Stands in the sources for what their exceptions have in common; each has another class above it.
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
"""Answers what a server asks: the question, the Java session and a text."""

ErrorClass = Callable[[Exception], str | None]
"""Returns the name of the compiled class whose object an error becomes; None for an error of the
JVM that stays what it is.
"""


class ServerClasses:
    """Java classes of a server, compiled in the driver.

    Attributes:
        requested: the ``Asked`` that the server's constructor takes.
    """

    def __init__(
        self,
        spark: SparkSession,
        source: str,
        names: Mapping[str, str],
        ask: Ask,
        error_class: ErrorClass,
    ) -> None:
        """Compile a source and what the servers share.

        Args:
            spark: the session.
            source: file name of the server's source.
            names: what stands in the source for classes of this release.
            ask: answers what the server asks, in the thread of the JVM that waits for it.
            error_class: see ``ErrorClass``; the constructor of the class takes a message, a
                condition, an SQLSTATE and the parameters.
        """
        self._spark = spark
        text = source_text(source, {**names, _ERROR: _ERROR_MEMBERS})
        self._loader = compiled(spark, text, _shared_text(spark))
        python = callback_client(spark)
        answers = _answers(partial(_answer, self, ask, error_class))
        self.requested = self.new("Asked", answers, python)

    def new(self, name: str, *arguments: Any) -> JavaObject:
        """Make an object of one of the compiled classes, which has one constructor."""
        constructor = self._loader.loadClass(f"{PACKAGE}.{name}").getDeclaredConstructors()[0]
        constructor.setAccessible(True)
        # py4j puts no Python object into an array.
        return constructor.newInstance(self.list_of(arguments).toArray())

    def list_of(self, elements: Any) -> JavaObject:
        """Make a ``java.util.List``."""
        found = jvm_class(self._spark, "java.util.ArrayList")()
        for element in elements:
            found.add(element)
        return found

    def error(self, name: str, error: Exception) -> JavaObject:
        """Make the Java exception of an error."""
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
    """Check that the JVM's threads can be asked in: each has its own thread of Python then.

    Raises:
        AcidAnalysisError: of this condition.
    """
    if not isinstance(spark.sparkContext._gateway, ClientServer):
        raise AcidAnalysisError(
            condition, "threads of Python are not those of the JVM: unset PYSPARK_PIN_THREAD"
        )


def session_of(spark: SparkSession, session: JavaObject) -> SparkSession:
    """Return the Python handle of a Java session of the same application."""
    return SparkSession(spark.sparkContext, session)


def executed_command(frame: DataFrame) -> LogicalPlan:
    """Return the rows of a command's result as the plan of a command that has run.

    Spark Connect hands the rows of such a plan to the client; of any other plan it has the client
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
    """Return the exception of the JVM that an error of PySpark wraps, None for other errors."""
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    return getattr(error, "_origin", None)


def _shared_text(spark: SparkSession) -> str:
    """Return the text of the classes that the servers share."""
    return source_text(_SHARED, {_METHODS: "\n".join(_parser_methods(spark))})


def _parser_methods(spark: SparkSession) -> Iterator[str]:
    """Yield the methods of a parser that leaves to Spark's what Python does not answer.

    They are written for this release, because an object of ``java.lang.reflect.Proxy`` can throw no
    AnalysisException: Scala's interface declares none.
    """
    modifier = jvm_class(spark, "java.lang.reflect.Modifier")
    for method in loaded(spark, _PARSER).getMethods():
        if modifier.isStatic(method.getModifiers()):
            continue
        name = str(method.getName())
        types = [str(found.getCanonicalName()) for found in method.getParameterTypes()]
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
    """Return what the JVM calls."""

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
    """Return an answer as Java takes it: a DataFrame as its plan, an error as an exception."""
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
        # A command has run by now; this plan has its result and does not run it again.
        return answer._jdf.queryExecution().commandExecuted()
    return answer
