"""RC4, the cipher of DIGEST-MD5 that can be implemented in pure Python."""

from __future__ import annotations

_SIZE = 256


class Rc4:
    """Key stream of RC4, which continues from call to call.

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
        """Encrypt bytes, or decrypt encrypted bytes, which is the same operation.

        >>> Rc4(b"Key").apply(b"Plaintext").hex()
        'bbf316e8d940af0ad3'
        """
        state, i, j = self._state, self._i, self._j
        stream = bytearray(len(content))
        for position in range(len(content)):
            i = (i + 1) & 0xFF
            first = state[i]
            j = (j + first) & 0xFF
            second = state[j]
            state[i], state[j] = second, first
            stream[position] = state[(first + second) & 0xFF]
        self._i, self._j = i, j
        length = len(content)
        return (int.from_bytes(content) ^ int.from_bytes(stream)).to_bytes(length)
