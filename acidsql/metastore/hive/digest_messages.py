"""Protection of messages after DIGEST-MD5: signatures, and encryption by RC4 (RFC 2831, 2.3, 2.4).

MD5 and RC4 are weak by today's standards, but DIGEST-MD5 requires them. TLS protects better.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from acidsql.metastore.hive.rc4 import Rc4
from acidsql.metastore.hive.sasl_mechanism import SaslError

# A protected message ends with the signature (10 bytes), the kind of the message and its number.
_SIGNATURE = 10
_KIND = b"\x00\x01"
_NUMBER = 4
OVERHEAD = _SIGNATURE + len(_KIND) + _NUMBER
_SIGNING = b"Digest session key to %s signing key magic constant"
_SEALING = b"Digest H(A1) to %s sealing key magic constant"


class Direction:
    """Protection of the messages in one direction, whose signatures cover their numbers.

    Args:
        session_key: H(A1) of the RFC.
        name: ``client-to-server`` or ``server-to-client``.
        encrypts: whether messages are encrypted, not only signed.
    """

    def __init__(self, session_key: bytes, name: bytes, *, encrypts: bool) -> None:
        self._key = md5(session_key + _SIGNING % name).digest()
        self._cipher = Rc4(md5(session_key + _SEALING % name).digest()) if encrypts else None
        self._number = 0

    def protect(self, message: bytes) -> bytes:
        """Return a message with its signature and number, encrypted if both sides agreed on it."""
        number = self._next()
        return self._ciphered(message + self._signature(number, message)) + _KIND + number

    def reveal(self, protected: bytes) -> bytes:
        """Return the content of a protected message.

        Raises:
            SaslError: the message was changed on its way, or is not the next one.
        """
        number = self._next()
        end = len(protected) - len(_KIND) - _NUMBER
        if end < _SIGNATURE or protected[end:] != _KIND + number:
            raise SaslError("a message of the server is not the next one, or was changed")
        plain = self._ciphered(protected[:end])
        message, signature = plain[:-_SIGNATURE], plain[-_SIGNATURE:]
        if not hmac.compare_digest(signature, self._signature(number, message)):
            raise SaslError("a message of the server has another signature: it was changed")
        return message

    def _next(self) -> bytes:
        number = self._number.to_bytes(_NUMBER)
        self._number = (self._number + 1) % (1 << 8 * _NUMBER)
        return number

    def _ciphered(self, content: bytes) -> bytes:
        return content if self._cipher is None else self._cipher.apply(content)

    def _signature(self, number: bytes, message: bytes) -> bytes:
        return hmac.new(self._key, number + message, md5).digest()[:_SIGNATURE]


def md5(content: bytes = b"") -> Any:
    """Return the MD5 hash of bytes, even if the system forbids MD5 as insecure."""
    return hashlib.md5(content, usedforsecurity=False)
