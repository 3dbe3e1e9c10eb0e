"""Interface of the client's side of a SASL mechanism (RFC 4422) for one connection."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from acidsql.metastore.kerberos import Protection


class SaslError(Exception):
    """Failure of a mechanism; the message says why."""


class Mechanism(Protocol):
    """Client's side of a mechanism.

    Attributes:
        name: name by which the server knows the mechanism.
    """

    name: str

    @property
    def is_complete(self) -> bool:
        """Whether the server may end the handshake.

        It may if the client has sent all its messages and, if the mechanism supports it, has
        authenticated the server.
        """

    @property
    def protects(self) -> bool:
        """Whether messages are protected after the authentication."""

    def respond(self, challenge: bytes | None) -> bytes:
        """Return the response to the server's challenge, or to None the initial response.

        Raises:
            SaslError: there is no response to the challenge.
        """

    def wrap(self, message: bytes) -> Sequence[bytes]:
        """Split a message for the server into protected messages that the server accepts.

        Raises:
            SaslError: the message cannot be protected.
        """

    def unwrap(self, message: bytes) -> bytes:
        """Return the content of a protected message of the server.

        Raises:
            SaslError: the message is not protected as agreed, or was changed on its way.
        """


def agreed_protection(
    offered: Collection[Protection], usable: Collection[Protection], least: Protection
) -> Protection:
    """Return the strongest protection that both sides support.

    Args:
        offered: protections that the server offers.
        usable: protections that the client supports.
        least: the weakest protection that is acceptable.

    Raises:
        SaslError: no protection fulfils all conditions.
    """
    for protection in sorted(usable, reverse=True):
        if protection in offered and protection >= least:
            return protection
    names = (
        ", ".join(candidate.name.lower() for candidate in Protection if candidate in offered)
        or "nothing known"
    )
    raise SaslError(
        f"the server offers {names}, but hadoop.rpc.protection asks for {least.name.lower()} or "
        "more"
    )
