"""RC4, the cipher of DIGEST-MD5 that needs nothing but Python."""

from __future__ import annotations

_SIZE = 256


class Rc4:
    """Key stream of RC4, which goes on from call to call.

    Args:
        key: up to 256 bytes.
    """

    def __init__(self, key: bytes) -> None:
        state = list(range(_SIZE))
        j = 0
        for i in range(_SIZE):
            j = (j + state[i] + key[i % len(key)]) % _SIZE
            state[i], state[j] = state[j], state[i]
        self._state = state
        self._i = self._j = 0

    def apply(self, content: bytes) -> bytes:
        """Return bytes encrypted, or encrypted ones decrypted, which is the same.

        >>> Rc4(b"Key").apply(b"Plaintext").hex()
        'bbf316e8d940af0ad3'
        """
        state, i, j = self._state, self._i, self._j
        stream = bytearray(len(content))
        for position in range(len(content)):
            i = (i + 1) & 0xFF
            one = state[i]
            j = (j + one) & 0xFF
            other = state[j]
            state[i], state[j] = other, one
            stream[position] = state[(one + other) & 0xFF]
        self._i, self._j = i, j
        length = len(content)
        return (int.from_bytes(content) ^ int.from_bytes(stream)).to_bytes(length)
