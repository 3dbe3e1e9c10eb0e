"""SASL mechanism with Kerberos: the client's side of GSSAPI (RFC 4752)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from acidsql.metastore.hive.sasl_mechanism import SaslError, agreed_protection
from acidsql.metastore.kerberos import Protection

# Maximum length of a protected message of the server. Hive does not split its answers, so the
# client accepts the highest number that fits into three bytes.
_LONGEST_ANSWER = 0xFFFFFF
_SIZE_BYTES = 3


class GssapiMechanism:
    """Kerberos as an `acidsql.metastore.hive.sasl_mechanism.Mechanism`.

    Args:
        gssapi: the package ``gssapi``.
        service: first part of the server's principal, such as ``hive``.
        host: second part of the principal.
        protection: the weakest protection that is acceptable.

    Raises:
        SaslError: the server does not have this principal.
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
        """Protection that client and server have agreed on; None before the agreement."""
        return self._chosen

    @property
    def is_complete(self) -> bool:
        """Whether client and server are authenticated and have agreed on the protection."""
        return self._chosen is not None

    @property
    def protects(self) -> bool:
        """Whether messages are protected."""
        return self._chosen in (Protection.INTEGRITY, Protection.PRIVACY)

    def respond(self, challenge: bytes | None) -> bytes:
        """Return the response to the server's challenge, or to None the initial response.

        Raises:
            SaslError: there is no ticket, the server has another identity, or it does not offer the
                required protection.
        """
        with self._gss_errors():
            if self._context.complete:
                offer = bytes(self._context.unwrap(challenge or b"").message)
                return bytes(self._context.wrap(self._answer(offer), False).message)
            return self._context.step(challenge) or b""

    def wrap(self, message: bytes) -> Sequence[bytes]:
        """Split a message for the server into protected messages that the server accepts.

        Raises:
            SaslError: it cannot be protected, for example because the ticket has expired.
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
        """Return the content of a protected message of the server.

        Raises:
            SaslError: the message was changed on its way, or is not encrypted as was agreed.
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
        """Return the answer to the server's offer.

        Both consist of a byte for the protection and three bytes for the maximum length of a
        message that the sender accepts. The byte is a set in the offer, and one value in the
        answer.
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
        """Return the strongest protection that both the server and the context support."""
        flags, flag = self._context.actual_flags, self._gssapi.RequirementFlag
        needed = {Protection.INTEGRITY: flag.integrity, Protection.PRIVACY: flag.confidentiality}
        usable = [
            protection
            for protection in Protection
            if protection not in needed or needed[protection] in flags
        ]
        return agreed_protection(
            [protection for protection in Protection if offered & protection], usable, self._least
        )

    @contextmanager
    def _gss_errors(self) -> Iterator[None]:
        try:
            yield
        except self._gssapi.exceptions.GSSError as error:
            raise SaslError(str(error)) from error
