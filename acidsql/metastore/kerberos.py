"""Kerberos principal of a metastore server."""

from __future__ import annotations

from dataclasses import dataclass

_HOST = "_HOST"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kerberos:
    """Kerberos principal of a metastore server.

    Attributes:
        principal: ``hive/_HOST@REALM``; ``_HOST`` stands for the host of the URI.
        host: host name that replaces ``_HOST``, such as the name behind a load balancer; None means
            the host of the URI.
    """

    principal: str
    host: str | None = None

    @property
    def service(self) -> str:
        """Service part of the principal: ``hive`` in ``hive/_HOST@REALM``."""
        return self.principal.partition("@")[0].partition("/")[0]

    def host_of(self, connected_to: str) -> str:
        """Return the host part of the principal for a connection to the host ``connected_to``."""
        named = self.principal.partition("@")[0].partition("/")[2]
        return (self.host or connected_to).lower() if named in ("", _HOST) else named
