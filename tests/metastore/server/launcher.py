"""Real Hive Metastore on loopback, with an embedded Derby database and no Hadoop daemons.

Java 17 and Maven are needed. What a version needs is fetched and prepared once, in the user's cache
directory; each server works in a home of its own and ends with the process that started it.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from tests.java_tools import JAVA_OPTIONS, JavaSetupError, free_port, prepared, run_tool

VERSIONS = ("4.1.0", "4.0.1", "3.1.3")

_HERE = Path(__file__).parent
_START_SECONDS = 300
_STOP_SECONDS = 10
_JAVA = (*JAVA_OPTIONS, "-Xmx384m")
# What 4.1.0 changed in the schema of 4.0.1: statistics lost their columns of names, which the older
# script declares NOT NULL.
_SCHEMA_OF_4_1 = """
DROP INDEX "APP"."TAB_COL_STATS_IDX";
DROP INDEX "APP"."PCS_STATS_IDX";
ALTER TABLE "APP"."TAB_COL_STATS" DROP COLUMN "CAT_NAME";
ALTER TABLE "APP"."TAB_COL_STATS" DROP COLUMN "DB_NAME";
ALTER TABLE "APP"."TAB_COL_STATS" DROP COLUMN "TABLE_NAME";
ALTER TABLE "APP"."PART_COL_STATS" DROP COLUMN "CAT_NAME";
ALTER TABLE "APP"."PART_COL_STATS" DROP COLUMN "DB_NAME";
ALTER TABLE "APP"."PART_COL_STATS" DROP COLUMN "TABLE_NAME";
ALTER TABLE "APP"."PART_COL_STATS" DROP COLUMN "PARTITION_NAME";
CREATE INDEX "APP"."TAB_COL_STATS_IDX" ON "APP"."TAB_COL_STATS" ("TBL_ID", "COLUMN_NAME");
CREATE INDEX "APP"."PCS_STATS_IDX" ON "APP"."PART_COL_STATS" ("PART_ID", "COLUMN_NAME");
UPDATE "APP"."VERSION" SET "SCHEMA_VERSION" = '4.1.0';
"""
_TASKS = ("AcidHouseKeeperService", "AcidTxnCleanerService", "CompactionHouseKeeperService")
_LOGGING = """status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = ${sys:metastore.log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{HH:mm:ss,SSS} %p %c{1} %t %m%n%ex
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Installation that the servers of one version share.

    Attributes:
        jars: the class path.
        database: a Derby database with the schema, to be copied.
    """

    version: str
    jars: str
    database: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Authentication of a server and of those who call it.

    Attributes:
        principal: of Kerberos, such as ``hive/localhost@EXAMPLE.COM``.
        keytab: its key.
        krb5_conf: configuration of Kerberos.
        protection: value of ``hadoop.rpc.protection``.
    """

    principal: str
    keytab: Path
    krb5_conf: Path
    protection: str

    def settings(self) -> dict[str, str]:
        """Return settings of ``metastore-site.xml``, with the names of Hive 3.1 and of Hive 4."""
        plain = {"sasl.enabled": "true", "kerberos.principal": self.principal}
        plain["kerberos.keytab.file"] = str(self.keytab)
        both = ("metastore", "hive.metastore")
        return {f"{prefix}.{name}": value for prefix in both for name, value in plain.items()}

    def hadoop_settings(self) -> dict[str, str]:
        """Return settings of ``core-site.xml``."""
        return {
            "hadoop.security.authentication": "kerberos",
            "hadoop.rpc.protection": self.protection,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCertificate:
    """Certificate of a server that speaks TLS, for the name ``localhost``.

    Attributes:
        key_store: file of Java with the certificate and its key.
        trust_store: file of Java with only the certificate.
        pem: the certificate.
        password: of both files.
    """

    key_store: Path
    trust_store: Path
    pem: Path
    password: str

    def settings(self) -> dict[str, str]:
        """Return settings of ``metastore-site.xml``, with the names of Hive 3.1 and of Hive 4."""
        plain = {"use.SSL": "true", "keystore.path": str(self.key_store)}
        plain["keystore.password"] = self.password
        both = ("metastore", "hive.metastore")
        return {f"{prefix}.{name}": value for prefix in both for name, value in plain.items()}

    def java_options(self) -> list[str]:
        """Return the options of Java by which Hive 3.1 has the key on loopback."""
        store = "-Djavax.net.ssl.keyStore"
        return [f"{store}={self.key_store}", f"{store}Password={self.password}"]


def make_certificate(place: Path) -> ServerCertificate:
    """Make a certificate that signs itself, with Java's tool."""
    made = ServerCertificate(
        key_store=place / "key.jks",
        trust_store=place / "trust.jks",
        pem=place / "certificate.pem",
        password="keep me secret",
    )
    key = ["-keystore", str(made.key_store), "-alias", "hms"]
    secret = ["-storepass", made.password]
    name = ["-dname", "CN=localhost", "-ext", "san=dns:localhost"]
    run_tool(["keytool", "-genkeypair", "-keyalg", "RSA", *key, *name, *secret], place)
    run_tool(["keytool", "-exportcert", "-rfc", "-file", str(made.pem), *key, *secret], place)
    trusted = ["-noprompt", "-file", str(made.pem), "-keystore", str(made.trust_store)]
    run_tool(["keytool", "-importcert", "-alias", "hms", *trusted, *secret], place)
    return made


@dataclass(slots=True, kw_only=True)
class MetastoreServer:
    """Metastore server; it may be stopped and started again, with the same database and port.

    Attributes:
        home: directory of everything that it writes.
        settings: settings of ``metastore-site.xml``, beside those of every server here.
        login: how the server authenticates; None lets everybody call.
        certificate: of a server that speaks TLS, else None.
    """

    installation: Installation
    home: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    login: Login | None = None
    certificate: ServerCertificate | None = None
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def version(self) -> str:
        """Version of Hive."""
        return self.installation.version

    @property
    def uri(self) -> str:
        """Such as ``thrift://127.0.0.1:9083``."""
        return f"thrift://127.0.0.1:{self.port}"

    @property
    def warehouse(self) -> Path:
        """Directory of tables by default."""
        return self.home / "warehouse"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.port = self.port or free_port()
        if not (self.home / "db").exists():
            self.warehouse.mkdir(parents=True, exist_ok=True)
            shutil.copytree(self.installation.database, self.home / "db")
        configuration = self.home / "conf"
        configuration.mkdir(exist_ok=True)
        (configuration / "metastore-site.xml").write_text(_site(self._all_settings()))
        options = self.certificate.java_options() if self.certificate else []
        if self.login is not None:
            (configuration / "core-site.xml").write_text(_site(self.login.hadoop_settings()))
            options += [f"-Djava.security.krb5.conf={self.login.krb5_conf}"]
        (configuration / "log4j2.properties").write_text(_LOGGING)
        with (self.home / "out").open("ab") as output:
            self.process = subprocess.Popen(
                [
                    "java",
                    *_JAVA,
                    *options,
                    f"-Dmetastore.log={self.home}/log",
                    f"-Dlauncher.database={self.home}/db",
                    f"-Dderby.stream.error.file={self.home}/derby.log",
                    f"-Dlog4j2.configurationFile={configuration}/log4j2.properties",
                    "-cp",
                    f"{configuration}:{self.installation.jars}",
                    "Launcher",
                    "-p",
                    str(self.port),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                cwd=self.home,
                env={**os.environ, "METASTORE_HOME": str(self.home), "LC_ALL": "C.UTF-8"},
            )
        self._wait()

    def stop(self) -> None:
        """End the process, at once and without a farewell, as a crash would."""
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        process.wait(_STOP_SECONDS)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def sql(self, statement: str) -> list[list[Any]]:
        """Run a statement in the server's own database; its rows."""
        process = self.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(" ".join(statement.split()).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert "error" not in answer, f"{statement}: {answer['error']}"
        rows: list[list[Any]] = answer["rows"]
        return rows

    def said(self) -> str:
        """Return the end of the server's output, for messages of failures."""
        logs = [self.home / name for name in ("out", "log")]
        return "\n".join(log.read_text(errors="replace")[-3000:] for log in logs if log.exists())

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        context = self._context()
        asks = answers if self.login is None else authenticates
        while not asks(self.port, context):
            dead = self.process is None or self.process.poll() is not None
            if dead or time.monotonic() > deadline:
                said = self.said()
                self.stop()
                raise JavaSetupError(f"the metastore {self.version} did not start:\n{said}")
            time.sleep(0.1)

    def _context(self) -> ssl.SSLContext | None:
        if self.certificate is None:
            return None
        return ssl.create_default_context(cafile=str(self.certificate.pem))

    def _all_settings(self) -> dict[str, str]:
        return {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:{self.home}/db",
            "datanucleus.schema.autoCreateAll": "false",
            "metastore.thrift.bind.host": "127.0.0.1",
            "metastore.warehouse.dir": self.warehouse.as_uri(),
            "metastore.warehouse.external.dir": self.warehouse.as_uri(),
            "metastore.event.db.notification.api.auth": "false",
            "metastore.metastore.event.db.notification.api.auth": "false",
            "metastore.support.concurrency": "true",
            "hive.support.concurrency": "true",
            "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
            # The default leader is the holder of a lock, which outlives a server that was killed.
            "metastore.housekeeping.leader.election": "host",
            "metastore.housekeeping.threads.on": "true",
            **_task_settings(self.version),
            **(self.login.settings() if self.login else {}),
            **(self.certificate.settings() if self.certificate else {}),
            **self.settings,
        }


def _task_settings(version: str) -> dict[str, str]:
    """Return settings with the tasks whose classes exist.

    One class of the default lists is missing, and then no task runs. Hive 3.1 starts the tasks of
    its second list, with the reaper, only together with its initiator.
    """
    package = "org.apache.hadoop.hive.metastore.txn"
    if version.startswith("3."):
        return {"metastore.task.threads.always": f"{package}.AcidHouseKeeperService"}
    tasks = ",".join(f"{package}.service.{task}" for task in _TASKS)
    return {"metastore.task.threads.remote": tasks}


def _site(settings: Mapping[str, str]) -> str:
    properties = "".join(
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in settings.items()
    )
    return f"<configuration>\n{properties}</configuration>\n"


def answers(port: int, context: ssl.SSLContext | None = None) -> bool:
    """Return whether a metastore on a port answers ``getVersion``."""
    call = b"\x80\x01\x00\x01\x00\x00\x00\x0agetVersion\x00\x00\x00\x01\x00"
    return _is_answered(port, call, b"\x80\x01\x00\x02", context)


def authenticates(port: int, context: ssl.SSLContext | None = None) -> bool:
    """Return whether a server on a port refuses an unknown mechanism of SASL (Thrift's BAD)."""
    message = b"\x01\x00\x00\x00\x04NONE\x02\x00\x00\x00\x00"
    return _is_answered(port, message, b"\x03", context)


def _is_answered(port: int, message: bytes, answer: bytes, context: ssl.SSLContext | None) -> bool:
    try:
        with ExitStack() as stack:
            plain = socket.create_connection(("127.0.0.1", port), 2)
            connection = stack.enter_context(plain)
            connection.settimeout(10)
            if context is not None:
                wrapped = context.wrap_socket(plain, server_hostname="localhost")
                connection = stack.enter_context(wrapped)
            connection.sendall(message)
            return connection.recv(len(answer)) == answer
    except OSError:
        return False


def install(version: str) -> Installation:
    """Fetch and prepare what servers of a version run on, if that was not done yet.

    Raises:
        JavaSetupError: Maven could not fetch it, or it could not be prepared.
    """
    sources = sorted([*_HERE.glob("*.java"), *_HERE.glob("loopback/*.java"), _HERE / "pom.xml"])
    contents = [*(path.read_text() for path in sources), _SCHEMA_OF_4_1]
    place = prepared("metastore", version, contents, partial(_prepare, version))
    return Installation(version=version, jars=_jars(version, place), database=place / "db")


def _prepare(version: str, work: Path) -> None:
    """Fill the directory of a version."""
    shutil.copy(_HERE / "pom.xml", work)
    goals = ["dependency:unpack@archive", "dependency:build-classpath"]
    options = ["-DincludeScope=runtime", f"-Dmdep.outputFile={work}/class-path"]
    run_tool(["mvn", "-q", "-B", "-P", version, *goals, *options], work)
    loopback = _HERE.glob("loopback/*.java") if version.startswith("3.") else ()
    sources = [str(path) for path in (_HERE / "Launcher.java", *loopback)]
    run_tool(["javac", "-nowarn", "-d", "classes", "-cp", _jars(version, work), *sources], work)
    _create_database(version, work)


def _jars(version: str, place: Path) -> str:
    """Return the class path; Maven's jars replace the archive's old Derby and logging."""
    replaced: tuple[str, ...] = ("derby-", "log4j-", "slf4j-")
    if version == "4.1.0":
        replaced += ("datanucleus-", "hive-")
    archive = sorted(place.glob("archive/*/lib/*.jar"))
    kept = [str(jar) for jar in archive if not jar.name.startswith(replaced)]
    resolved = (place / "class-path").read_text().strip().split(":")
    jars = [*resolved, *kept] if version == "4.1.0" else [*kept, *resolved]
    return ":".join([str(place / "classes"), *jars])


def _create_database(version: str, work: Path) -> None:
    (script,) = work.glob("archive/**/*.derby.sql")
    more = _SCHEMA_OF_4_1 if version == "4.1.0" else ""
    statements = f"CONNECT 'jdbc:derby:{work}/db;create=true';\n{script.read_text()}\n{more}"
    tool = ["-cp", _jars(version, work), "org.apache.derby.tools.ij"]
    said = run_tool(["java", *_JAVA, *tool], work, statements)
    if "ERROR " in said:
        raise JavaSetupError(f"the schema of {version} failed:\n{said[-2000:]}")


@contextmanager
def running(
    version: str,
    home: Path,
    settings: Mapping[str, str] | None = None,
    login: Login | None = None,
    certificate: ServerCertificate | None = None,
) -> Iterator[MetastoreServer]:
    """Run a server with an empty metastore.

    Args:
        version: of Hive, one of ``VERSIONS``.
        home: directory for all that it writes.
        settings: more of ``metastore-site.xml``.
        login: if the server authenticates.
        certificate: if the server speaks TLS.
    """
    server = MetastoreServer(
        installation=install(version),
        home=home,
        settings=settings or {},
        login=login,
        certificate=certificate,
    )
    try:
        server.start()
        yield server
    finally:
        server.stop()
