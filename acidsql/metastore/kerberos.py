"""How to authenticate to a server."""

from __future__ import annotations

from dataclasses import dataclass

_HOST = "_HOST"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kerberos:
    """The server's Kerberos principal.

    Attributes:
        principal: ``hive/_HOST@REALM``; ``_HOST`` stands for the host of the URI.
        host: to put in the place of ``_HOST`` instead, such as the name behind a load balancer.
    """

    principal: str
    host: str | None = None

    @property
    def service(self) -> str:
        """The first part of the principal."""
        return self.principal.partition("@")[0].partition("/")[0]

    def host_of(self, connected_to: str) -> str:
        """The host part of the principal, on a connection to a host."""
        named = self.principal.partition("@")[0].partition("/")[2]
        return (self.host or connected_to).lower() if named in ("", _HOST) else named
