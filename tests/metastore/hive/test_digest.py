"""Tests of RFC 2831's client: its examples, challenges of servers, protected messages."""

from __future__ import annotations

import re
import socket
import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import MetastoreError
from acidsql.metastore.hive.connection import Connections, parse_uris
from acidsql.metastore.hive.digest_mechanism import DigestMechanism
from acidsql.metastore.hive.digest_messages import OVERHEAD, Direction, md5
from acidsql.metastore.hive.rc4 import Rc4
from acidsql.metastore.hive.sasl import sasl_handshake
from acidsql.metastore.hive.sasl_mechanism import SaslError
from acidsql.metastore.kerberos import Protection

AUTHENTICATION, INTEGRITY, PRIVACY = Protection
# Of a metastore of Hive 4.1 whose hadoop.rpc.protection is privacy.
_CHALLENGE = (
    'realm="default",nonce="Y2hhbGxlbmdl",qop="{qop}",charset=utf-8,cipher="{cipher}",'
    "algorithm=md5-sess"
)


def challenge(qop: str = "auth", cipher: str = "3des,rc4,des,rc4-56,rc4-40") -> bytes:
    return _CHALLENGE.format(qop=qop, cipher=cipher).encode()


def mechanism(least: Protection = AUTHENTICATION) -> DigestMechanism:
    return DigestMechanism("user", "password", least)


def answered(made: DigestMechanism, to: bytes) -> dict[str, str]:
    """Return the directives of the answer to a challenge."""
    found = re.findall(r'([\w-]+)=(?:"([^"]*)"|([^,]*))', made.respond(to).decode())
    return {name: quoted or word for name, quoted, word in found}


@pytest.mark.parametrize(
    ("uri", "nonce", "cnonce", "response", "shown"),
    [
        (
            "imap/elwood.innosoft.com",
            "OA6MG9tEQGm2hh",
            "OA6MHXh6VqTrRk",
            "d388dad90d4bbd760a152321f2143af7",
            "ea40f60335c427b5527b84dbabcdfffd",
        ),
        (
            "acap/elwood.innosoft.com",
            "OA9BSXrbuRhWay",
            "OA9BSuZWMSpW8m",
            "6084c6db3fede7352c551284490fd0fc",
            "2f0b3d7c3c2e486600ef710726aa2eae",
        ),
    ],
)
def test_examples_of_the_rfc(uri: str, nonce: str, cnonce: str, response: str, shown: str) -> None:
    """Check the examples of RFC 2831, section 4."""
    made = DigestMechanism(
        "chris", "secret", AUTHENTICATION, digest_uri=uri, make_cnonce=lambda: cnonce
    )
    assert made.respond(None) == b""
    asked = (
        f'realm="elwood.innosoft.com",nonce="{nonce}",qop="auth",algorithm=md5-sess,charset=utf-8'
    )
    assert made.respond(asked.encode()).decode() == (
        f'charset=utf-8,username="chris",realm="elwood.innosoft.com",nonce="{nonce}",nc=00000001,'
        f'cnonce="{cnonce}",digest-uri="{uri}",response={response},qop=auth'
    )
    before = made.is_complete
    assert made.respond(f"rspauth={shown}".encode()) == b""
    assert (before, made.is_complete, made.protects) == (False, True, False)


@pytest.mark.parametrize("last", [b"rspauth=00", b"rspauth=", b"", b'nonce="a",algorithm=md5-sess'])
def test_server_that_does_not_know_the_password(last: bytes) -> None:
    made = mechanism()
    made.respond(challenge())
    with pytest.raises(SaslError, match="does not know the password"):
        made.respond(last)
    assert not made.is_complete


def test_nonces_of_clients_differ() -> None:
    assert len({answered(mechanism(), challenge())["cnonce"] for _ in range(10)}) == 10


@pytest.mark.parametrize(
    ("qop", "chosen", "word"),
    [
        ("auth", AUTHENTICATION, "auth"),
        ("auth-int", INTEGRITY, "auth-int"),
        ("auth-conf", PRIVACY, "auth-conf"),
        ("auth,auth-int", INTEGRITY, "auth-int"),
        ("auth-conf, auth-int,auth", PRIVACY, "auth-conf"),
        ("other,auth", AUTHENTICATION, "auth"),
    ],
)
def test_strongest_protection_is_taken(qop: str, chosen: Protection, word: str) -> None:
    made = mechanism()
    answer = answered(made, challenge(qop))
    assert (made.protection, answer["qop"]) == (chosen, word)
    assert made.protects == (chosen is not AUTHENTICATION)
    assert answer.get("cipher") == ("rc4" if chosen is PRIVACY else None)
    assert answer.get("maxbuf") == (None if chosen is AUTHENTICATION else "16777215")
    assert answer["realm"] == "default"


def test_servers_that_encrypt_otherwise() -> None:
    answer = answered(mechanism(), challenge("auth-int,auth-conf", "3des,des"))
    assert answer["qop"] == "auth-int"
    with pytest.raises(SaslError, match="offers privacy, but .* asks for authentication or more"):
        mechanism().respond(challenge("auth-conf", "3des,des"))


@pytest.mark.parametrize(
    ("least", "qop", "message"),
    [
        (INTEGRITY, "auth", "offers authentication, but .* asks for integrity or more"),
        (PRIVACY, "auth,auth-int", "offers authentication, integrity, but .* asks for privacy"),
        (AUTHENTICATION, "other", "offers nothing known"),
    ],
)
def test_less_protection_than_is_wanted(least: Protection, qop: str, message: str) -> None:
    with pytest.raises(SaslError, match=message):
        mechanism(least).respond(challenge(qop))


@pytest.mark.parametrize(
    ("text", "realm"),
    [
        ('nonce="a",algorithm=md5-sess', "default"),
        ('realm="one",realm="default",nonce="a",algorithm=md5-sess', "default"),
        ('realm="one",realm="two",nonce="a",algorithm=md5-sess', "one"),
        ('  Nonce = "a" , ALGORITHM=md5-sess,realm="",', ""),
    ],
)
def test_realms(text: str, realm: str) -> None:
    assert answered(mechanism(), text.encode())["realm"] == realm


def test_quotation_marks_in_values() -> None:
    made = mechanism()
    answer = made.respond(rb'nonce="a\"b\\c",algorithm=md5-sess').decode()
    assert r'nonce="a\"b\\c"' in answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonce",
        'nonce="a',
        'nonce="a"algorithm=md5-sess',
        'nonce="a",nonce="b",algorithm=md5-sess',
        'nonce="a"',
        'nonce="a",algorithm=md5',
        "algorithm=md5-sess",
        'nonce="a",algorithm=md5-sess,qop="auth-int",maxbuf=16',
        'nonce="a",algorithm=md5-sess,qop="auth-int",maxbuf=many',
    ],
)
def test_challenges_that_are_none(text: str) -> None:
    with pytest.raises(SaslError, match="challenge|takes no protected messages"):
        mechanism().respond(text.encode())


@given(st.binary(max_size=200))
def test_strange_challenges(content: bytes) -> None:
    made = mechanism()
    try:
        made.respond(content)
    except SaslError:
        assert not made.is_complete


def test_messages_are_no_longer_than_the_server_takes() -> None:
    made = mechanism()
    made.respond(challenge("auth-int") + b",maxbuf=100")
    message = bytes(range(256)) * 2
    parts = made.wrap(message)
    assert [len(part) for part in parts[:-1]] == [100] * (len(parts) - 1)
    assert b"".join(part[:-OVERHEAD] for part in parts) == message
    assert made.wrap(b"") == []


@pytest.mark.parametrize("encrypts", [False, True])
@given(messages=st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_protected_messages(encrypts: bool, messages: list[bytes]) -> None:
    key = md5(b"key").digest()
    sender, receiver = (Direction(key, b"client-to-server", encrypts=encrypts) for _ in range(2))
    sent = [sender.protect(message) for message in messages]
    assert [receiver.reveal(one) for one in sent] == messages
    assert all(len(one) == len(m) + OVERHEAD for one, m in zip(sent, messages, strict=True))
    if not encrypts:
        assert all(one.startswith(m) for one, m in zip(sent, messages, strict=True))


@pytest.mark.parametrize("encrypts", [False, True])
@given(place=st.integers(0, 5 + OVERHEAD - 1), bit=st.integers(0, 7))
def test_changed_messages(encrypts: bool, place: int, bit: int) -> None:
    key = md5(b"key").digest()
    sender, receiver = (Direction(key, b"client-to-server", encrypts=encrypts) for _ in range(2))
    changed = bytearray(sender.protect(b"hello"))
    changed[place] ^= 1 << bit
    with pytest.raises(SaslError, match="changed"):
        receiver.reveal(bytes(changed))


def test_messages_in_another_order_or_direction_or_cut_off() -> None:
    key = md5(b"key").digest()
    sender, receiver, other = (
        Direction(key, name, encrypts=False)
        for name in (b"client-to-server", b"client-to-server", b"server-to-client")
    )
    first = sender.protect(b"first")
    second = sender.protect(b"second")
    with pytest.raises(SaslError, match="not the next one"):
        receiver.reveal(second)
    with pytest.raises(SaslError, match="another signature"):
        other.reveal(first)
    with pytest.raises(SaslError, match="not the next one"):
        Direction(key, b"client-to-server", encrypts=False).reveal(first[-OVERHEAD + 1 :])


@pytest.mark.parametrize(
    ("key", "offset", "stream"),
    [
        ("0102030405", 0, "b2396305f03dc027ccc3524a0a1118a8"),
        ("0102030405", 4096, "ff25b58995996707e51fbdf08b34d875"),
        ("0102030405060708090a0b0c0d0e0f10", 0, "9ac7cc9a609d1ef7b2932899cde41b97"),
        ("0102030405060708090a0b0c0d0e0f10", 240, "065902e4b620f6cc36c8589f66432f2b"),
    ],
)
def test_vectors_of_rfc_6229(key: str, offset: int, stream: str) -> None:
    cipher = Rc4(bytes.fromhex(key))
    cipher.apply(bytes(offset))
    assert cipher.apply(bytes(16)).hex() == stream


def test_server_that_ends_the_handshake_without_proof() -> None:
    """Check servers that say they have authenticated the client, who need not know the password."""
    for last in (b"", challenge(), b"rspauth=d388dad90d4bbd760a152321f2143af7"):
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def say_complete(listener: socket.socket = listener, last: bytes = last) -> None:
                connection, _ = listener.accept()
                for status, payload in ((2, challenge()), (5, last)):
                    connection.recv(1000)
                    connection.sendall(struct.pack(">BI", status, len(payload)) + payload)
                connection.recv(1000)

            threading.Thread(target=say_complete, daemon=True).start()
            endpoints = parse_uris(f"thrift://127.0.0.1:{listener.getsockname()[1]}")
            handshake = sasl_handshake(lambda _: mechanism(), advice="get a token")
            connections = Connections(endpoints, user="ann", timeout=5, handshake=handshake)
            with pytest.raises(MetastoreError, match="METASTORE_AUTHENTICATION.*get a token"):
                connections.call("get_all_databases")
