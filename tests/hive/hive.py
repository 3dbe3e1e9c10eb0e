"""Real Hive 4.1 in a process of its own, which runs statements and returns rows.

Java 17 and Maven are needed. It runs Tez in local mode on the local file system, over a metastore
in Derby that it can also serve to others by Thrift. Everything that it writes is below one
directory.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.hive.site import log_settings, site
from tests.java_tools import JAVA_OPTIONS, JavaSetupError, free_port, prepared, run_tool
from tests.metastore.server.launcher import answers, install

_SERVER = Path(__file__).parent / "server"
_POM = Path(__file__).parent / "pom.xml"
_START_SECONDS = 180
_STOP_SECONDS = 20
_CLEAN_SECONDS = 3
_LONG_MESSAGE = 1000
_COMMIT_ATTEMPTS = 5
_DERBY_GAVE_UP = "A lock could not be obtained within the time requested"


class HiveError(Exception):
    """Hive refused or failed a statement.

    Attributes:
        code: Hive's error code (``ErrorMsg``), 0 where it has none.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Hive:
    """Running Hive; ``running`` starts and ends one.

    Attributes:
        home: directory of everything that it writes.
        port: port on loopback of its metastore, or None.
    """

    def __init__(self, process: subprocess.Popen[str], home: Path, port: int | None) -> None:
        self._process = process
        self.home = home
        self.port = port

    @property
    def warehouse(self) -> Path:
        """Directory of tables by default."""
        return self.home / "warehouse"

    @property
    def uri(self) -> str:
        """URI of the metastore, such as ``thrift://127.0.0.1:9083``."""
        return f"thrift://127.0.0.1:{self.port}"

    def run(self, sql: str, *, session: str = "main") -> list[tuple[Any, ...]]:
        """Run a statement; its rows, each value as text (see ``tests.hive_values``).

        Args:
            sql: one statement, without a semicolon.
            session: a session has settings, a current database and, between START TRANSACTION and
                COMMIT, a transaction of its own.

        Raises:
            HiveError: Hive refused or failed it.
        """
        return [tuple(row) for row in self._ask({"sql": sql, "session": session})]

    def commit(self, session: str) -> None:
        """Commit the transaction of a session.

        Now and then Hive's COMMIT finds no transaction in the session, and tries to unlock what the
        transaction has locked, which the metastore refuses. Or its metastore waits in Derby for a
        client that waits for it, and gives up. The session has forgotten the transaction then, and
        the metastore still has it open: it is committed by the metastore, with a new attempt
        whenever that gives up.
        """
        try:
            self.run("COMMIT", session=session)
        except HiveError as error:
            txn_id = transaction_left_open(str(error))
            if txn_id is None:
                raise
            self._commit_of_metastore(txn_id)

    def _commit_of_metastore(self, txn_id: str) -> None:
        for attempt in range(1, _COMMIT_ATTEMPTS + 1):
            try:
                self.call("commit_txn", txn_id)
            except HiveError as error:
                if attempt == _COMMIT_ATTEMPTS or _DERBY_GAVE_UP not in str(error):
                    raise
            else:
                return

    def call(self, name: str, *arguments: object) -> Any:
        """Do what another client of the metastore does (``MetastoreCalls.java``); its answer."""
        texts = [str(argument) for argument in arguments]
        answer = self._ask({"call": name, "arguments": texts, "session": "main"})
        return answer[0] if answer else None

    def compact(self, table: str, kind: str, partition: str = "", *, clean: bool = True) -> None:
        """Compact a table or partition now, in this thread, and remove what is obsolete then."""
        where = f" PARTITION ({partition})" if partition else ""
        self.run(f"ALTER TABLE {table}{where} COMPACT '{kind}'")
        self.call("compactor", "worker")
        if clean:
            self.clean(table)

    def clean(self, table: str) -> None:
        """Have the cleaner remove the obsolete directories of a table that no reader may read.

        It skips a compaction that was committed within ``metastore.txn.opentxn.timeout``, a second:
        a transaction with a lower number might still be opening.
        """
        deadline = time.monotonic() + _CLEAN_SECONDS
        while True:
            self.call("compactor", "cleaner")
            states = {row[5] for row in self.run("SHOW COMPACTIONS") if row[2] == table}
            if "ready for cleaning" not in states or time.monotonic() > deadline:
                return
            time.sleep(0.2)

    def _ask(self, request: Mapping[str, object]) -> list[Any]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        except BaseException:
            process.kill()  # its answer would be taken for that of the next request
            raise
        if not line:
            raise HiveError(f"Hive has ended: {self.said()}", 0)
        answer = json.loads(line)
        if "error" in answer:
            raise HiveError(_brief(answer["error"]), _code(answer["error"]) or answer["code"])
        rows: list[Any] = answer["rows"]
        return rows

    def said(self) -> str:
        """Return the end of its output, for messages of failures."""
        logs = [self.home / name for name in ("out", "log")]
        return "\n".join(log.read_text(errors="replace")[-3000:] for log in logs if log.exists())

    def wait_until_ready(self) -> None:
        """Wait for its first answer, and for its metastore's if it serves one.

        Raises:
            JavaSetupError: it did not start.
        """
        assert self._process.stdout is not None
        deadline = time.monotonic() + _START_SECONDS
        if not self._process.stdout.readline():
            raise JavaSetupError(f"Hive did not start: {self.said()}")
        while self.port is not None and not answers(self.port):
            if time.monotonic() > deadline:
                raise JavaSetupError(f"Hive's metastore did not start: {self.said()}")
            time.sleep(0.1)

    def close(self) -> None:
        """End the process; it ends with its standard input, and is killed if it does not."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_STOP_SECONDS)


@contextmanager
def running(
    home: Path, settings: Mapping[str, str] | None = None, *, serve: bool = False
) -> Iterator[Hive]:
    """Run a Hive with an empty metastore.

    Args:
        home: an empty directory, for all that it writes.
        settings: more of ``hive-site.xml``.
        serve: whether others may use its metastore, at ``Hive.uri``.
    """
    database = install("4.1.0").database
    place = prepared("hive", "4.1.0", _sources(), _prepare)
    configuration = home / "conf"
    configuration.mkdir(parents=True)
    (home / "warehouse").mkdir()
    shutil.copytree(database, home / "db")
    (configuration / "hive-site.xml").write_text(site(home, settings or {}))
    (configuration / "log4j2.properties").write_text(log_settings(home / "log"))
    port = free_port() if serve else None
    class_path = f"{configuration}:{place / 'classes'}:{(place / 'class-path').read_text().strip()}"
    with (
        (home / "out").open("w") as errors,
        subprocess.Popen(
            [
                "java",
                *JAVA_OPTIONS,
                "-Xmx2g",
                f"-Dderby.stream.error.file={home}/derby.log",
                f"-Djava.io.tmpdir={home}/tmp",
                # A commit and a check_lock can wait for each other in Derby: one tries again then.
                "-Dderby.locks.waitTimeout=2",
                "-cp",
                class_path,
                "HiveServer",
                *([str(port)] if port else []),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            cwd=home,
        ) as process,
    ):
        hive = Hive(process, home, port)
        try:
            hive.wait_until_ready()
            yield hive
        finally:
            hive.close()


def transaction_left_open(message: str) -> str | None:
    """Return the transaction that a failed COMMIT of Hive has left open in the metastore."""
    unlocked = re.search(r"Attempt to unlock lock .*? txnid:(\d+) ", message)
    gave_up = re.search(rf"commitTxn\(CommitTxnRequest\(txnid:(\d+)\).*{_DERBY_GAVE_UP}", message)
    found = unlocked or gave_up
    return found[1] if found else None


def _code(message: str) -> int | None:
    """Return the error code in a message; statements that do not compile have it nowhere else."""
    found = re.search(r"\[Error (\d+)\]", message)
    return int(found[1]) if found else None


def _brief(message: str) -> str:
    """Shorten the message of a failed task, which repeats itself with stack traces."""
    if len(message) < _LONG_MESSAGE:
        return message
    causes = dict.fromkeys(re.findall(r"Caused by: (.*?)\n", message))
    return " <- ".join([message[:_LONG_MESSAGE], *causes])


def _sources() -> list[str]:
    return [path.read_text() for path in (_POM, *sorted(_SERVER.glob("*.java")))]


def _prepare(work: Path) -> None:
    """Fetch what Hive runs on, and compile the server."""
    shutil.copy(_POM, work)
    goals = ["dependency:build-classpath", "-DincludeScope=runtime"]
    run_tool(["mvn", "-q", "-B", *goals, f"-Dmdep.outputFile={work}/class-path"], work)
    class_path = (work / "class-path").read_text().strip()
    sources = [str(path) for path in sorted(_SERVER.glob("*.java"))]
    options = ["-nowarn", "-proc:none", "-d", str(work / "classes"), "-cp", class_path]
    run_tool(["javac", *options, *sources], work)
