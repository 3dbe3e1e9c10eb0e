"""Delegation tokens of a Hive Metastore, and the forms that Hadoop uses to pass them on."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from acidsql.errors import MetastoreError
from acidsql.metastore.writables import WritableError, WritableReader

# Kind of the metastore's tokens (DelegationTokenIdentifier of Hive).
KIND = "HIVE_DELEGATION_TOKEN"
# First bytes of a file of Hadoop's ``Credentials``, and the number of the only supported form.
_MAGIC = b"HDTS"
_WRITABLE = 0


class TokenSource(Protocol):
    """Source from which each new connection takes its token."""

    def current(self) -> DelegationToken | None:
        """Return the token; None if there is none.

        Raises:
            MetastoreError: METASTORE_AUTHENTICATION, the token cannot be read.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationToken:
    """Delegation token: it authenticates its owner as a password would.

    Attributes:
        identifier: bytes by which the server identifies the token.
        password: its secret.
        kind: kind of the token, such as ``HIVE_DELEGATION_TOKEN``.
        service: name that distinguishes several tokens of a kind; usually empty.
    """

    identifier: bytes = field(repr=False)
    password: bytes = field(repr=False)
    kind: str = KIND
    service: str = ""

    @classmethod
    def parse(cls, text: str) -> DelegationToken:
        """Parse a token in the text form of Hadoop's ``encodeToUrlString``.

        Metastores return tokens in this form.

        Raises:
            ValueError: the text is not a token.
        """
        try:
            encoded = text.strip().encode("ascii")
            raw = base64.b64decode(encoded + b"=" * (-len(encoded) % 4), b"-_", validate=True)
            reader = WritableReader(raw)
            token = _read_token(reader)
            reader.check_end()
        except (UnicodeEncodeError, binascii.Error, WritableError) as error:
            raise ValueError(f"it is no delegation token ({error})") from error
        return token

    def current(self) -> DelegationToken:
        """Return the token itself, as a `TokenSource`."""
        return self

    @property
    def user(self) -> str:
        """User name for SASL."""
        return base64.b64encode(self.identifier).decode()

    @property
    def secret(self) -> str:
        """Password for SASL."""
        return base64.b64encode(self.password).decode()

    @property
    def max_date(self) -> datetime | None:
        """Time after which no client can renew the token; None if the identifier has no such time.

        The token may end earlier, if it is not renewed or if it is cancelled.
        """
        facts = self._facts()
        return None if facts is None else facts[1]

    def __str__(self) -> str:
        facts = self._facts()
        if facts is None:
            return "the delegation token"
        owner, ends = facts
        return f"the delegation token of {owner}, which ends at {ends:%Y-%m-%d %H:%M} UTC at last"

    def _facts(self) -> tuple[str, datetime] | None:
        """Return owner and maximum date, as AbstractDelegationTokenIdentifier writes them."""
        reader = WritableReader(self.identifier)
        try:
            reader.number()  # version of the form
            owner, _, _ = (reader.text() for _ in range(3))  # renewer, real user
            reader.number()  # time of issue
            return owner, datetime.fromtimestamp(reader.number() / 1000, UTC)
        except (WritableError, ValueError, OverflowError, OSError):
            return None


@dataclass(frozen=True, slots=True)
class TokenFile:
    """File with a delegation token. Each new connection reads it, because it may be replaced.

    Attributes:
        path: path of a file of Hadoop's ``Credentials``, which ``HADOOP_TOKEN_FILE_LOCATION``
            names, or of a file with the text of one token.
        service: service of the token in ``Credentials`` (``hive.metastore.token.signature``).
    """

    path: str | Path
    service: str = ""

    def current(self) -> DelegationToken:
        """Return the token.

        Raises:
            MetastoreError: METASTORE_AUTHENTICATION, the file has no token, or cannot be read.
        """
        try:
            content = Path(self.path).read_bytes()
            if not content.startswith(_MAGIC):
                return _of_kind(DelegationToken.parse(content.decode()))
            tokens = read_credentials(content)
        except (OSError, ValueError) as error:  # UnicodeDecodeError is a ValueError
            raise _unusable(str(self.path), str(error)) from error
        token = newest_token(tokens, self.service)
        if token is None:
            descriptions = sorted(
                f"{candidate.kind} of service {candidate.service!r}" for candidate in tokens
            )
            raise _unusable(
                str(self.path),
                f"it has no token {KIND} of service {self.service!r} but "
                f"{', '.join(descriptions) or 'none at all'}",
            )
        return token


def read_credentials(content: bytes) -> tuple[DelegationToken, ...]:
    """Return the tokens in a file of Hadoop's ``Credentials``.

    Args:
        content: bytes of the file.

    Raises:
        ValueError: it is not a file of ``Credentials``, or has the form of Protocol Buffers.
    """
    reader = WritableReader(content)
    try:
        if reader.take(len(_MAGIC)) != _MAGIC:
            raise ValueError("it is no file of Hadoop's Credentials")
        form = reader.take(1)[0]
        if form != _WRITABLE:
            raise ValueError(
                f"it has the form {form} of Hadoop's Credentials: write it in the form java "
                "(hadoop dtutil edit -format java)"
            )
        tokens = []
        for _ in range(reader.number()):
            reader.text()  # an alias
            tokens.append(_read_token(reader))
    except WritableError as error:
        raise ValueError(f"it is no file of Hadoop's Credentials ({error})") from error
    return tuple(tokens)


def newest_token(tokens: Iterable[DelegationToken], service: str) -> DelegationToken | None:
    """Return the token of a metastore's service with the latest end; None if there is none."""
    candidates = [token for token in tokens if (token.kind, token.service) == (KIND, service)]
    never = datetime.min.replace(tzinfo=UTC)
    return max(candidates, key=lambda token: token.max_date or never, default=None)


def _read_token(reader: WritableReader) -> DelegationToken:
    return DelegationToken(
        identifier=reader.take(reader.number()),
        password=reader.take(reader.number()),
        kind=reader.text(),
        service=reader.text(),
    )


def _of_kind(token: DelegationToken) -> DelegationToken:
    if token.kind != KIND:
        raise ValueError(f"it has a token {token.kind}, not {KIND}")
    return token


def _unusable(path: str, why: str) -> MetastoreError:
    return MetastoreError(
        "METASTORE_AUTHENTICATION",
        f"{path} cannot be used as file of a delegation token: {why}; check "
        "spark.acidsql.metastore.kerberos.tokenFile, or the path of TokenFile",
    )
