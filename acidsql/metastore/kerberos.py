"""Kerberos principal of a metastore server."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

_HOST = "_HOST"


class Protection(IntEnum):
    """Protection of messages once the client is authenticated, the weakest first. Names are those
    of Hadoop, numbers those of security layers in RFC 4752.
    """

    AUTHENTICATION = 1
    INTEGRITY = 2
    PRIVACY = 4


def least_protection(text: str) -> Protection:
    """Return the weakest protection that a value of Hadoop's setting names.

    Raises:
        KeyError: it names something else.

    >>> least_protection("privacy,integrity")
    <Protection.INTEGRITY: 2>
    """
    return min(Protection[name.strip().upper()] for name in text.split(","))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kerberos:
    """Kerberos principal of a metastore server, and the protection of messages.

    Attributes:
        principal: ``hive/_HOST@REALM``; ``_HOST`` stands for the host of the URI.
        host: host name that replaces ``_HOST``, such as the name behind a load balancer; None means
            the host of the URI.
        protection: the least that a server must offer; of those that it offers, the strongest is
            taken.
    """

    principal: str
    host: str | None = None
    protection: Protection = Protection.AUTHENTICATION

    @property
    def service(self) -> str:
        """Service part of the principal: ``hive`` in ``hive/_HOST@REALM``."""
        return self.principal.partition("@")[0].partition("/")[0]

    def host_of(self, connected_to: str) -> str:
        """Return the host part of the principal for a connection to the host ``connected_to``."""
        named = self.principal.partition("@")[0].partition("/")[2]
        return (self.host or connected_to).lower() if named in ("", _HOST) else named
