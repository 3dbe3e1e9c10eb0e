"""Kerberos as a mechanism of SASL: the client's side of GSSAPI, after RFC 4752."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from acidsql.metastore.hive.sasl_mechanism import SaslError, agreed_protection
from acidsql.metastore.kerberos import Protection

# What the server may send in one protected message. Hive does not cut its answers, so the client
# promises to take the most that three bytes can say.
_LONGEST_ANSWER = 0xFFFFFF
_SIZE_BYTES = 3


class GssapiMechanism:
    """Kerberos as an `acidsql.metastore.hive.sasl_mechanism.Mechanism`.

    Args:
        gssapi: the package of that name.
        service: first part of the server's principal, such as ``hive``.
        host: its second part.
        protection: the least that the server must offer.

    Raises:
        SaslError: the server has no such principal.
    """

    name = "GSSAPI"

    def __init__(self, gssapi: Any, service: str, host: str, protection: Protection) -> None:
        self._gssapi = gssapi
        self._least = protection
        self._chosen: Protection | None = None
        self._longest = 0
        flag = gssapi.RequirementFlag
        with self._gss_errors():
            self._context = gssapi.SecurityContext(
                name=gssapi.Name(f"{service}@{host}", gssapi.NameType.hostbased_service),
                mech=gssapi.MechType.kerberos,
                flags=flag.mutual_authentication
                | flag.out_of_sequence_detection
                | flag.integrity
                | flag.confidentiality,
                usage="initiate",
            )

    @property
    def protection(self) -> Protection | None:
        """Protection that client and server agreed on; None before that."""
        return self._chosen

    @property
    def is_complete(self) -> bool:
        """Whether both are authenticated and have agreed on the protection."""
        return self._chosen is not None

    @property
    def protects(self) -> bool:
        """Whether messages are protected."""
        return self._chosen in (Protection.INTEGRITY, Protection.PRIVACY)

    def respond(self, challenge: bytes | None) -> bytes:
        """Return the response to the server's challenge; None asks for the initial response.

        Raises:
            SaslError: there is no ticket, the server is not who it should be, or it does not offer
                the protection that is wanted.
        """
        with self._gss_errors():
            if self._context.complete:
                offer = bytes(self._context.unwrap(challenge or b"").message)
                return bytes(self._context.wrap(self._answer(offer), False).message)
            return self._context.step(challenge) or b""

    def wrap(self, message: bytes) -> Sequence[bytes]:
        """Return a message for the server as protected ones, none longer than the server takes.

        Raises:
            SaslError: it cannot be protected, because the ticket has expired for example.
        """
        with self._gss_errors():
            return [
                bytes(
                    self._context.wrap(
                        message[begin : begin + self._longest], self._encrypts
                    ).message
                )
                for begin in range(0, len(message), self._longest)
            ]

    def unwrap(self, message: bytes) -> bytes:
        """Return what is in a protected message of the server.

        Raises:
            SaslError: it was changed on its way, or is not encrypted though that was agreed on.
        """
        with self._gss_errors():
            unwrapped = self._context.unwrap(message)
        if self._encrypts and not unwrapped.encrypted:
            raise SaslError("the server sent a message that is not encrypted, as was agreed on")
        return bytes(unwrapped.message)

    @property
    def _encrypts(self) -> bool:
        return self._chosen is Protection.PRIVACY

    def _answer(self, offer: bytes) -> bytes:
        """Return the answer to the server's offer. Both are a byte for the protection, a set in the
        offer, and three for the length of the longest message that its sender takes.
        """
        if len(offer) != 1 + _SIZE_BYTES:
            raise SaslError(f"the server's offer of protection has {len(offer)} bytes, not 4")
        self._chosen = self._choose(offer[0])
        if not self.protects:
            return bytes([self._chosen]) + bytes(_SIZE_BYTES)
        longest = int.from_bytes(offer[1:], "big")
        self._longest = self._context.get_wrap_size_limit(longest, self._encrypts) if longest else 0
        if self._longest <= 0:
            raise SaslError(f"the server takes no protected messages (up to {longest} bytes)")
        return bytes([self._chosen]) + _LONGEST_ANSWER.to_bytes(_SIZE_BYTES, "big")

    def _choose(self, offered: int) -> Protection:
        """Return the strongest protection that the server offers and the context has."""
        flags, flag = self._context.actual_flags, self._gssapi.RequirementFlag
        needed = {Protection.INTEGRITY: flag.integrity, Protection.PRIVACY: flag.confidentiality}
        usable = [one for one in Protection if one not in needed or needed[one] in flags]
        return agreed_protection([one for one in Protection if offered & one], usable, self._least)

    @contextmanager
    def _gss_errors(self) -> Iterator[None]:
        try:
            yield
        except self._gssapi.exceptions.GSSError as error:
            raise SaslError(str(error)) from error
