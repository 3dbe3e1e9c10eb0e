"""Kerberos settings of a metastore server, and delegation tokens, which replace tickets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from acidsql.metastore.tokens import DelegationToken, TokenSource

_HOST = "_HOST"


class Protection(IntEnum):
    """Protection of messages after the authentication of the client, the weakest first.

    The names are Hadoop's. The numbers are those of the security layers in RFC 4752.
    """

    AUTHENTICATION = 1
    INTEGRITY = 2
    PRIVACY = 4


def least_protection(text: str) -> Protection:
    """Return the weakest protection that a value of Hadoop's setting names.

    Raises:
        KeyError: the text contains an unknown name.

    >>> least_protection("privacy,integrity")
    <Protection.INTEGRITY: 2>
    """
    return min(Protection[name.strip().upper()] for name in text.split(","))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kerberos:
    """Kerberos principal of a metastore server, and the protection of messages.

    Attributes:
        principal: ``hive/_HOST@REALM``; ``_HOST`` means the host of the URI. Without a principal,
            the client can authenticate only with a delegation token.
        host: host name that replaces ``_HOST``, such as the name behind a load balancer; None means
            the host of the URI.
        protection: the weakest protection that is acceptable; the client chooses the strongest one
            that the server offers.
        token: source of a delegation token (``TokenFile("…")`` of ``acidsql.metastore.tokens``),
            which replaces a ticket. If it is None, or has no token, the client uses the ticket.
    """

    principal: str = ""
    host: str | None = None
    protection: Protection = Protection.AUTHENTICATION
    token: TokenSource | None = None

    @property
    def service(self) -> str:
        """Service part of the principal: ``hive`` in ``hive/_HOST@REALM``."""
        return self.principal.partition("@")[0].partition("/")[0]

    def host_of(self, connected_to: str) -> str:
        """Return the host part of the principal for a connection to the host ``connected_to``."""
        named = self.principal.partition("@")[0].partition("/")[2]
        return (self.host or connected_to).lower() if named in ("", _HOST) else named

    def current_token(self) -> DelegationToken | None:
        """Return the token for a new connection; None means that it needs a ticket.

        Raises:
            MetastoreError: METASTORE_AUTHENTICATION, the token cannot be read.
        """
        return None if self.token is None else self.token.current()

    def with_current_token(self) -> Kerberos:
        """Return a copy that contains the current token itself, for another process.

        Raises:
            MetastoreError: METASTORE_AUTHENTICATION, the token cannot be read.
        """
        return replace(self, token=self.current_token())
