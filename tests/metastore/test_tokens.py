from __future__ import annotations

import base64
import pickle
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import MetastoreError
from acidsql.metastore.kerberos import Kerberos
from acidsql.metastore.tokens import DelegationToken, TokenFile, newest_token, read_credentials
from acidsql.metastore.writables import WritableError, WritableReader

# Of a metastore of Hive 4.1, which lived for a minute.
_ENDS = datetime(2026, 12, 3, 19, 20, tzinfo=UTC)


def number(value: int) -> bytes:
    """Return a number as ``WritableUtils.writeVLong`` writes it."""
    if -112 <= value <= 127:
        return (value % 256).to_bytes(1)
    sign, magnitude = (-112, value) if value >= 0 else (-120, ~value)
    length = (magnitude.bit_length() + 7) // 8
    return ((sign - length) % 256).to_bytes(1) + magnitude.to_bytes(length)


def sized(content: bytes) -> bytes:
    return number(len(content)) + content


def identifier(owner: str = "ann", ends: datetime = _ENDS) -> bytes:
    """Return what AbstractDelegationTokenIdentifier writes."""
    names = b"".join(sized(name.encode()) for name in (owner, "hive", ""))
    moments = number(1_000) + number(int(ends.timestamp() * 1000))
    return b"\0" + names + moments + number(1) + number(2)


def written(token: DelegationToken) -> bytes:
    """Return what Hadoop's ``Token.write`` writes."""
    parts = (token.identifier, token.password, token.kind.encode(), token.service.encode())
    return b"".join(map(sized, parts))


def credentials(*tokens: DelegationToken) -> bytes:
    entries = [sized(b"alias %d" % i) + written(token) for i, token in enumerate(tokens)]
    return b"HDTS\0" + number(len(entries)) + b"".join(entries) + number(0)


def text_of(token: DelegationToken) -> str:
    return base64.urlsafe_b64encode(written(token)).decode().rstrip("=")


TOKEN = DelegationToken(identifier=identifier(), password=b"\xfb\xff secret")


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers(value: int) -> None:
    reader = WritableReader(number(value))
    assert reader.number() == value
    reader.check_end()


@given(st.binary(max_size=60))
def test_strange_bytes(content: bytes) -> None:
    for text in (content.decode("latin-1"), base64.urlsafe_b64encode(content).decode()):
        with suppress(ValueError):
            DelegationToken.parse(text)
    for file in (content, b"HDTS\0" + content):
        with suppress(ValueError):
            read_credentials(file)
    assert str(DelegationToken(identifier=content, password=b"")).startswith("the delegation token")


def test_a_number_that_is_cut_off() -> None:
    with pytest.raises(WritableError, match="2 bytes are wanted at 1, 1 are left"):
        WritableReader(b"\x8e\x01").number()


@given(st.binary(max_size=300), st.binary(max_size=300), st.text(max_size=9), st.text(max_size=9))
def test_texts_of_tokens(identifier: bytes, password: bytes, kind: str, service: str) -> None:
    token = DelegationToken(identifier=identifier, password=password, kind=kind, service=service)
    assert DelegationToken.parse(text_of(token)) == token
    assert DelegationToken.parse(f" {text_of(token)}\n") == token
    assert read_credentials(credentials(token, TOKEN)) == (token, TOKEN)


def test_what_a_token_says_of_itself() -> None:
    assert str(TOKEN) == "the delegation token of ann, which ends at 2026-12-03 19:20 UTC at last"
    assert TOKEN.max_date == _ENDS
    assert repr(TOKEN) == "DelegationToken(kind='HIVE_DELEGATION_TOKEN', service='')"
    assert TOKEN.secret == "+/8gc2VjcmV0"
    strange = DelegationToken(identifier=b"?", password=b"")
    assert (str(strange), strange.max_date) == ("the delegation token", None)


def test_the_token_that_ends_last_is_taken() -> None:
    later = replace(TOKEN, identifier=identifier(ends=_ENDS.replace(day=9)))
    strange = DelegationToken(identifier=b"?", password=b"")
    hdfs = DelegationToken(identifier=b"", password=b"", kind="HDFS_DELEGATION_TOKEN")
    named = DelegationToken(identifier=b"", password=b"", service="other")
    tokens = (hdfs, strange, TOKEN, later, named)
    assert newest_token(tokens, "") == later
    assert newest_token(tokens, "other") == named
    assert newest_token((strange,), "") == strange
    assert newest_token((hdfs, named), "") is None


def test_files_are_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(credentials(TOKEN))
    source = TokenFile(file)
    assert source.current() == TOKEN
    other = DelegationToken(identifier=b"other", password=b"")
    file.write_text(text_of(other) + "\n")
    assert source.current() == other
    kerberos = Kerberos(token=source).with_current_token()
    file.unlink()
    assert kerberos.current_token() == other
    assert pickle.loads(pickle.dumps(kerberos)) == kerberos
    assert Kerberos(principal="hive/_HOST@X").with_current_token().current_token() is None


HDFS = replace(TOKEN, kind="HDFS_DELEGATION_TOKEN", service="nn:8020")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is no delegation token"),
        (b"nonsense!", "it is no delegation token"),
        (text_of(TOKEN)[:-4].encode(), "it is no delegation token"),
        ((text_of(TOKEN) + "AAAA").encode(), "it is no delegation token"),
        (b"\xff", "can't decode"),
        (text_of(HDFS).encode(), "it has a token HDFS_DELEGATION_TOKEN, not HIVE_DELEGATION_TOKEN"),
        (credentials(), "no token HIVE_DELEGATION_TOKEN of service '' but none at all"),
        (credentials(HDFS), "but HDFS_DELEGATION_TOKEN of service 'nn:8020'"),
        (credentials(TOKEN)[:-9], "no file of Hadoop's Credentials"),
        (b"HDTS", "no file of Hadoop's Credentials"),
        (b"HDTS\x01", "it has the form 1 .*dtutil edit -format java"),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(MetastoreError, match=f"token cannot be used.*{message}") as raised:
        TokenFile(file).current()
    assert raised.value.condition == "METASTORE_AUTHENTICATION"


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MetastoreError, match=r"No such file.*kerberos\.tokenFile"):
        TokenFile(tmp_path / "token").current()
