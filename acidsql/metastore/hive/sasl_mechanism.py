"""Interface of a mechanism of SASL (RFC 4422), of one connection, on the client's side."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from acidsql.metastore.kerberos import Protection


class SaslError(Exception):
    """Failure of a mechanism; the message says why."""


class Mechanism(Protocol):
    """Client's side of a mechanism.

    Attributes:
        name: as the server knows it.
    """

    name: str

    @property
    def is_complete(self) -> bool:
        """Whether the server may end the handshake: the client has sent all that it has to, and
        knows who the server is, where the mechanism can determine it.
        """

    @property
    def protects(self) -> bool:
        """Whether messages are protected once the client is authenticated."""

    def respond(self, challenge: bytes | None) -> bytes:
        """Return the response to the server's challenge; None asks for the initial response.

        Raises:
            SaslError: there is none.
        """

    def wrap(self, message: bytes) -> Sequence[bytes]:
        """Return a message for the server as protected ones, none longer than the server takes.

        Raises:
            SaslError: it cannot be protected.
        """

    def unwrap(self, message: bytes) -> bytes:
        """Return what is in a protected message of the server.

        Raises:
            SaslError: it is not protected as was agreed on, or was changed on its way.
        """


def agreed_protection(
    offered: Collection[Protection], usable: Collection[Protection], least: Protection
) -> Protection:
    """Return the strongest protection that both sides can.

    Args:
        offered: by the server.
        usable: by the client.
        least: the least that is wanted.

    Raises:
        SaslError: there is none.
    """
    for protection in sorted(usable, reverse=True):
        if protection in offered and protection >= least:
            return protection
    names = ", ".join(one.name.lower() for one in Protection if one in offered) or "nothing known"
    raise SaslError(
        f"the server offers {names}, but hadoop.rpc.protection asks for {least.name.lower()} or "
        "more"
    )
