"""Tests of RFC 4752's negotiation, byte for byte, with a context that protects nothing."""

from __future__ import annotations

from enum import IntFlag
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.metastore.hive.gssapi_mechanism import GssapiMechanism
from acidsql.metastore.hive.sasl_mechanism import SaslError
from acidsql.metastore.kerberos import Protection, least_protection

AUTHENTICATION, INTEGRITY, PRIVACY = Protection
_OVERHEAD = 10


class Flag(IntFlag):
    mutual_authentication = 2
    out_of_sequence_detection = 8
    confidentiality = 16
    integrity = 32


class GSSError(Exception):
    pass


class Context:
    """Context that is complete with the server's first token; a wrapped message is ``c`` or ``i``,
    for whether it is encrypted, and the message.
    """

    def __init__(self, *, flags: Flag, usage: str, **_: object) -> None:
        assert usage == "initiate"
        assert Flag.mutual_authentication in flags
        assert Flag.out_of_sequence_detection in flags
        self.actual_flags = flags
        self.complete = False

    def step(self, token: bytes | None) -> bytes | None:
        if token == b"bad":
            raise GSSError("the token is bad")
        self.complete = token is not None
        return None if self.complete else b"first"

    def wrap(self, message: bytes, encrypt: bool) -> Any:
        return SimpleNamespace(message=(b"c" if encrypt else b"i") + message)

    def unwrap(self, message: bytes) -> Any:
        if message[:1] not in (b"c", b"i"):
            raise GSSError("the message was changed")
        return SimpleNamespace(message=message[1:], encrypted=message[:1] == b"c")

    def get_wrap_size_limit(self, size: int, encrypt: bool) -> int:
        assert isinstance(encrypt, bool)
        return max(0, size - _OVERHEAD)


def gssapi(lacks: Flag | None = None) -> Any:
    def context(**arguments: Any) -> Context:
        made = Context(**arguments)
        made.actual_flags &= ~(lacks or Flag(0))
        return made

    return SimpleNamespace(
        Name=lambda text, _: text,
        NameType=SimpleNamespace(hostbased_service="hostbased"),
        MechType=SimpleNamespace(kerberos="krb5"),
        RequirementFlag=Flag,
        SecurityContext=context,
        exceptions=SimpleNamespace(GSSError=GSSError),
    )


def authenticated(least: Protection, lacks: Flag | None = None) -> GssapiMechanism:
    """Return a mechanism that waits for the server's offer."""
    mechanism = GssapiMechanism(gssapi(lacks), "hive", "localhost", least)
    assert mechanism.respond(None) == b"first"
    assert mechanism.respond(b"second") == b""
    assert not mechanism.is_complete
    return mechanism


def offer(layers: int, longest: int = 0x010000) -> bytes:
    return b"i" + bytes([layers]) + longest.to_bytes(3, "big")


@pytest.mark.parametrize(
    ("layers", "chosen", "answer"),
    [
        (1, AUTHENTICATION, b"\x01\x00\x00\x00"),
        (2, INTEGRITY, b"\x02\xff\xff\xff"),
        (4, PRIVACY, b"\x04\xff\xff\xff"),
        (1 | 2, INTEGRITY, b"\x02\xff\xff\xff"),
        (1 | 2 | 4, PRIVACY, b"\x04\xff\xff\xff"),
        (0x80 | 1, AUTHENTICATION, b"\x01\x00\x00\x00"),
    ],
)
def test_strongest_layer_is_taken(layers: int, chosen: Protection, answer: bytes) -> None:
    mechanism = authenticated(AUTHENTICATION)
    assert mechanism.respond(offer(layers)) == b"i" + answer  # never encrypted
    assert mechanism.is_complete
    assert mechanism.protection is chosen
    assert mechanism.protects == (chosen is not AUTHENTICATION)


def test_layer_that_the_context_lacks_is_not_taken() -> None:
    mechanism = authenticated(AUTHENTICATION, lacks=Flag.confidentiality)
    assert mechanism.respond(offer(1 | 2 | 4)) == b"i\x02\xff\xff\xff"
    mechanism = authenticated(AUTHENTICATION, lacks=Flag.confidentiality | Flag.integrity)
    assert mechanism.respond(offer(1 | 2 | 4)) == b"i\x01\x00\x00\x00"
    with pytest.raises(SaslError, match="offers privacy, but"):
        authenticated(AUTHENTICATION, lacks=Flag.confidentiality).respond(offer(4))


@pytest.mark.parametrize(
    ("least", "layers", "message"),
    [
        (INTEGRITY, 1, "offers authentication, but .* asks for integrity or more"),
        (PRIVACY, 1 | 2, "offers authentication, integrity, but .* asks for privacy or more"),
        (AUTHENTICATION, 0x80, "offers nothing known"),
        (AUTHENTICATION, 0, "offers nothing known"),
    ],
)
def test_less_protection_than_is_wanted(least: Protection, layers: int, message: str) -> None:
    mechanism = authenticated(least)
    with pytest.raises(SaslError, match=message):
        mechanism.respond(offer(layers))
    assert not mechanism.is_complete


@pytest.mark.parametrize(
    ("challenge", "message"),
    [
        (b"i\x04\x01\x00", "has 3 bytes, not 4"),
        (b"i\x04\x01\x00\x00\x00", "has 5 bytes, not 4"),
        (b"", "was changed"),
        (b"x\x04\x01\x00\x00", "was changed"),
        (offer(4, longest=0), "takes no protected messages"),
        (offer(2, longest=_OVERHEAD), "takes no protected messages"),
    ],
)
def test_offers_that_are_none(challenge: bytes, message: str) -> None:
    with pytest.raises(SaslError, match=message):
        authenticated(AUTHENTICATION).respond(challenge)


def test_token_that_is_refused() -> None:
    mechanism = GssapiMechanism(gssapi(), "hive", "localhost", AUTHENTICATION)
    mechanism.respond(None)
    with pytest.raises(SaslError, match="the token is bad"):
        mechanism.respond(b"bad")


@given(message=st.binary(min_size=1, max_size=300), longest=st.integers(11, 100))
def test_messages_are_cut_to_what_the_server_takes(message: bytes, longest: int) -> None:
    mechanism = authenticated(AUTHENTICATION)
    mechanism.respond(offer(2, longest))
    wrapped = mechanism.wrap(message)
    assert all(len(one) - 1 + _OVERHEAD <= longest for one in wrapped)
    assert b"".join(mechanism.unwrap(one) for one in wrapped) == message
    assert {one[:1] for one in wrapped} == {b"i"}


def test_private_messages_are_encrypted_both_ways() -> None:
    mechanism = authenticated(AUTHENTICATION)
    mechanism.respond(offer(4))
    assert mechanism.wrap(b"question") == [b"cquestion"]
    assert mechanism.unwrap(b"canswer") == b"answer"
    with pytest.raises(SaslError, match="not encrypted"):
        mechanism.unwrap(b"ianswer")
    with pytest.raises(SaslError, match="was changed"):
        mechanism.unwrap(b"xanswer")


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("authentication", AUTHENTICATION),
        ("privacy", PRIVACY),
        ("Integrity", INTEGRITY),
        ("privacy, integrity", INTEGRITY),
        ("privacy,integrity,authentication", AUTHENTICATION),
    ],
)
def test_least_of_what_hadoop_s_setting_names(text: str, least: Protection) -> None:
    assert least_protection(text) is least


@pytest.mark.parametrize("text", ["", "auth-conf", "privacy,"])
def test_values_that_hadoop_does_not_know(text: str) -> None:
    with pytest.raises(KeyError):
        least_protection(text)
