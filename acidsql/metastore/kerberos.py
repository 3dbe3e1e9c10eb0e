"""How to authenticate to a server."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

_HOST = "_HOST"


class Protection(IntEnum):
    """What is done to messages once the client is authenticated, the weakest first. Names are those
    of Hadoop's ``hadoop.rpc.protection``, numbers those of security layers in RFC 4752.
    """

    AUTHENTICATION = 1
    INTEGRITY = 2
    PRIVACY = 4


def least_protection(text: str) -> Protection:
    """Return the weakest protection that a value of ``hadoop.rpc.protection`` names.

    Raises:
        KeyError: it names something else.

    >>> least_protection("privacy,integrity")
    <Protection.INTEGRITY: 2>
    """
    return min(Protection[name.strip().upper()] for name in text.split(","))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kerberos:
    """The server's Kerberos principal, and how messages are protected.

    Attributes:
        principal: ``hive/_HOST@REALM``; ``_HOST`` stands for the host of the URI.
        host: to put in the place of ``_HOST`` instead, such as the name behind a load balancer.
        protection: the least that a server must offer; of those that it offers, the strongest is
            taken.
    """

    principal: str
    host: str | None = None
    protection: Protection = Protection.AUTHENTICATION

    @property
    def service(self) -> str:
        """The first part of the principal."""
        return self.principal.partition("@")[0].partition("/")[0]

    def host_of(self, connected_to: str) -> str:
        """The host part of the principal, on a connection to a host."""
        named = self.principal.partition("@")[0].partition("/")[2]
        return (self.host or connected_to).lower() if named in ("", _HOST) else named
