"""Tests with real metastores: clients that have a delegation token and no ticket."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyspark
import pytest

from acidsql.errors import MetastoreError
from acidsql.metastore.hive.connection import Connections, Endpoint, parse_uris
from acidsql.metastore.hive.digest_mechanism import DigestMechanism
from acidsql.metastore.hive.sasl import kerberos_handshake
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.kerberos import Kerberos, Protection
from acidsql.metastore.tls import Tls
from acidsql.metastore.tokens import DelegationToken
from acidsql.session.heartbeat import Heartbeater
from tests.kerberos.conftest import Server, Tokens
from tests.metastore.hive.proxy import proxied
from tests.metastore.server.launcher import MetastoreServer, make_certificate

pytestmark = pytest.mark.kerberos

_SECONDS = 20
_GROUPS = ["g" * 100] * 4000  # more than a server of Java takes in one message, which is 64 KiB


class Client:
    """Client with a token, in this process, which has neither ticket nor gssapi.

    Attributes:
        agreed: protections that were agreed on.
    """

    def __init__(self, port: int, kerberos: Kerberos, ca_file: Path | None = None) -> None:
        self.agreed: set[Protection | None] = set()
        handshake = kerberos_handshake(kerberos)

        def recorded(connected: Any, endpoint: Endpoint) -> Any:
            protocol = handshake(connected, endpoint)
            mechanism = protocol.trans.sasl._mechanism
            assert isinstance(mechanism, DigestMechanism)
            self.agreed.add(mechanism.protection)
            return protocol

        self.connections = Connections(
            parse_uris(f"thrift://localhost:{port}"),
            user="ann",
            timeout=_SECONDS,
            tls=Tls(ca_file=str(ca_file)).context() if ca_file else None,
            handshake=recorded,
        )
        self.store = HiveMetastore(self.connections, user="ann")


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    """Yield a function that makes clients."""
    with ExitStack() as stack:

        def make(port: int, token: DelegationToken, **options: Any) -> Client:
            ca_file = options.pop("ca_file", None)
            client = Client(port, Kerberos(token=token, **options), ca_file)
            stack.callback(client.store.close)
            return client

        yield make


@pytest.mark.parametrize(
    ("version", "protection"),
    [
        ("4.1.0", "authentication"),
        ("4.1.0", "integrity"),
        ("4.1.0", "privacy"),
        ("4.0.1", "privacy"),
        ("3.1.3", "privacy"),
    ],
)
def test_messages_are_protected_as_the_server_is_configured(
    server: Server,
    tokens: Tokens,
    connect: Callable[..., Client],
    version: str,
    protection: str,
) -> None:
    started = server(version, protection)
    token = DelegationToken.parse(tokens(started, "get_delegation_token", "ann", "ann"))
    assert (token.kind, token.service) == ("HIVE_DELEGATION_TOKEN", "")
    assert "the delegation token of ann, which ends at 20" in str(token)
    week = timedelta(days=7, minutes=1)
    assert token.max_date is not None
    assert datetime.now(UTC) < token.max_date < datetime.now(UTC) + week
    with proxied(started.port) as proxy:
        client = connect(proxy.port, token)
        secret = "read_this_if_you_can"
        client.store.create_database(secret, f"file:/nowhere/{secret}")
        txn_id = client.store.open_txn("ann", "host")
        client.store.commit_txn(txn_id)
        assert client.store.valid_txns().is_valid(txn_id)
        assert secret in client.store.databases()
        assert client.connections.call("set_ugi", "ann", _GROUPS)[: len(_GROUPS)] == _GROUPS
        assert client.agreed == {Protection[protection.upper()]}
        assert (secret.encode() in proxy.sent) == (protection != "privacy")
        assert b'digest-uri="null/default"' in proxy.sent


def _issued(tokens: Tokens, started: MetastoreServer) -> str:
    return str(tokens(started, "get_delegation_token", "ann", "ann"))


def test_token_within_tls(
    server: Server, tokens: Tokens, connect: Callable[..., Client], tmp_path: Path
) -> None:
    certificate = make_certificate(tmp_path)
    started = server("4.1.0", "authentication", certificate)
    token = DelegationToken.parse(_issued(tokens, started))
    client = connect(started.port, token, ca_file=certificate.pem)
    assert "default" in client.store.databases()
    assert client.agreed == {Protection.AUTHENTICATION}


def test_who_has_a_token_needs_no_ticket_though_there_is_a_principal(
    server: Server, tokens: Tokens, connect: Callable[..., Client]
) -> None:
    started = server("4.1.0", "authentication")
    token = DelegationToken.parse(_issued(tokens, started))
    client = connect(started.port, token, principal="nobody/_HOST@NOWHERE.COM")
    assert "default" in client.store.databases()


def test_tokens_that_the_server_does_not_take(
    server: Server, tokens: Tokens, connect: Callable[..., Client]
) -> None:
    started = server("4.1.0", "authentication")
    token = DelegationToken.parse(_issued(tokens, started))
    wrong = replace(token, password=bytes(len(token.password)))
    unknown = replace(token, identifier=token.identifier[:-1] + b"\x7f")
    for refused in (wrong, unknown):
        with pytest.raises(MetastoreError, match="the delegation token of ann, which") as raised:
            connect(started.port, refused).store.databases()
        assert raised.value.condition == "METASTORE_AUTHENTICATION"
    with pytest.raises(MetastoreError, match=r"hadoop\.rpc\.protection asks for integrity"):
        connect(started.port, token, protection=Protection.INTEGRITY).store.databases()


def test_a_cancelled_token(server: Server, tokens: Tokens, connect: Callable[..., Client]) -> None:
    """Check that a connection outlives its token, and that no heartbeat comes through after it."""
    started = server("4.1.0", "authentication")
    text = _issued(tokens, started)
    with proxied(started.port) as proxy:
        client = connect(proxy.port, DelegationToken.parse(text))
        txn_id = client.store.open_txn("ann", "host")
        heartbeater = Heartbeater(client.store)
        heartbeater.add(txn_id)
        assert heartbeater.beat()
        tokens(started, "cancel_delegation_token", text)
        assert heartbeater.beat()
        assert not client.store.valid_txns().is_valid(txn_id)
        proxy.break_connections()
        assert not heartbeater.beat()
        with pytest.raises(MetastoreError, match="expired or been cancelled") as raised:
            client.store.commit_txn(txn_id)
        assert raised.value.condition == "METASTORE_AUTHENTICATION"
        heartbeater.stop()
    after = connect(started.port, DelegationToken.parse(_issued(tokens, started)))
    assert not after.store.valid_txns().is_valid(txn_id)
    after.store.abort_txn(txn_id)


_INTERVAL = "cluster.delegation.token.renew-interval"


@pytest.mark.parametrize(("version", "renews"), [("4.1.0", True), ("3.1.3", False)])
def test_a_token_that_nobody_has_renewed(
    server: Server, tokens: Tokens, connect: Callable[..., Client], version: str, renews: bool
) -> None:
    """Check that a server of Hive 4 renews a token by itself (HiveMetaStore's
    TokenStoreDelegationTokenSecretManager.renewIfRequired), and that one of Hive 3.1 does not.
    """
    settings = {f"metastore.{_INTERVAL}": "1s", f"hive.{_INTERVAL}": "1s"}
    started = server(version, "authentication", **settings)
    client = connect(started.port, DelegationToken.parse(_issued(tokens, started)))
    time.sleep(1.1)
    if renews:
        assert "default" in client.store.databases()
        return
    with pytest.raises(MetastoreError, match="expired or been cancelled") as raised:
        client.store.databases()
    assert raised.value.condition == "METASTORE_AUTHENTICATION"


class Program:
    """Process with a Spark session, where no ticket is to be had (``spark_program``)."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, **asked: Any) -> Any:
        """Return the answer to a line."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            kind, _, answer = line.partition(" ")
            if kind == "answer":
                return json.loads(answer)
        raise AssertionError("the program has ended")

    def sql(self, session: str, text: str) -> Any:
        """Return the rows of a statement, or its error."""
        return self.ask(session=session, sql=text)


@contextmanager
def _program(place: Path, credentials: Path) -> Iterator[Program]:
    environment = dict(os.environ)
    environment |= {"HADOOP_TOKEN_FILE_LOCATION": str(credentials), "KRB5CCNAME": "FILE:/nowhere"}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.kerberos.spark_program", str(place / "warehouse")],
        env=environment,
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Program(process)


def _credentials(text: str) -> bytes:
    """Return the file of Hadoop's ``Credentials`` with one token, as Spark names it."""
    token = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    alias = b"hive.server2.delegation.token"
    return b"HDTS\0\x01" + bytes([len(alias)]) + alias + token + b"\0"


def test_statements_of_spark(server: Server, tokens: Tokens, tmp_path: Path) -> None:
    started = server("4.1.0", "authentication")
    first, second = _issued(tokens, started), _issued(tokens, started)
    credentials, text_file = tmp_path / "container_tokens", tmp_path / "token"
    credentials.write_bytes(_credentials(first))
    text_file.write_text(second + "\n")
    sasl = {"hive.metastore.sasl.enabled": "true"}
    by_file = {"spark.acidsql.metastore.kerberos.tokenFile": str(text_file)}
    with proxied(started.port) as proxy, _program(tmp_path, credentials) as program:
        uri = "spark.acidsql.metastore"
        here, through = f"thrift://localhost:{started.port}", f"thrift://localhost:{proxy.port}"
        program.ask(session="hadoop", settings={uri: here, **sasl})
        program.ask(session="file", settings={uri: through, **by_file})
        rows = "SELECT * FROM tokens.t"
        assert program.sql("hadoop", "CREATE DATABASE tokens") == []
        created = program.sql(
            "hadoop",
            "CREATE TABLE tokens.t (id INT, name STRING) STORED AS ORC "
            "TBLPROPERTIES ('transactional' = 'true')",
        )
        assert created == []
        program.sql("hadoop", "INSERT INTO tokens.t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        assert program.sql("hadoop", "UPDATE tokens.t SET name = 'z' WHERE id = 2") == [[1, 1]]
        program.sql("file", "DELETE FROM tokens.t WHERE id = 3")
        assert program.sql("file", rows) == [[1, "a"], [2, "z"]]
        if pyspark.__version__ >= "4":
            assert program.ask(session="hadoop", load="tokens.t") == [[1, "a"], [2, "z"]]

        # The token ends in the middle of a transaction, and the connection with it.
        assert program.sql("file", "START TRANSACTION") == []
        program.sql("file", "UPDATE tokens.t SET name = 'lost'")
        tokens(started, "cancel_delegation_token", second)
        proxy.break_connections()
        failed = program.sql("file", "COMMIT")
        assert failed["condition"] == "METASTORE_AUTHENTICATION", failed
        assert program.sql("hadoop", rows) == [[1, "a"], [2, "z"]]
        text_file.write_text(_issued(tokens, started))
        assert program.sql("file", rows) == [[1, "a"], [2, "z"]]

        # Spark gives Hadoop's user a new token, which new connections take.
        tokens(started, "cancel_delegation_token", first)
        assert program.sql("hadoop", rows) == [[1, "a"], [2, "z"]]  # connected before
        program.ask(session="late", settings={uri: here, **sasl})
        assert program.sql("late", rows)["condition"] == "METASTORE_AUTHENTICATION"
        program.ask(token=_issued(tokens, started))
        assert program.sql("late", rows) == [[1, "a"], [2, "z"]]
        program.sql("late", "DROP DATABASE tokens CASCADE")
