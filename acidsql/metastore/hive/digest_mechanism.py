"""SASL mechanism with a user name and a password: the client's side of DIGEST-MD5 (RFC 2831).

Hadoop servers use it to authenticate delegation tokens (SaslRpcServer, HadoopThriftAuthBridge).
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Sequence

from acidsql.metastore.hive.digest_messages import OVERHEAD, Direction, md5
from acidsql.metastore.hive.sasl_mechanism import SaslError, agreed_protection
from acidsql.metastore.kerberos import Protection

# Hive's servers use no protocol name, and this host name.
DIGEST_URI = "null/default"
_REALM = "default"
_WORDS = {
    "auth": Protection.AUTHENTICATION,
    "auth-int": Protection.INTEGRITY,
    "auth-conf": Protection.PRIVACY,
}
_CIPHER = "rc4"
_DIRECTIVE = re.compile(
    r'\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]*))\s*(?:,|$)', re.DOTALL
)
# Maximum length of a message, unless the server sets another one.
_LONGEST = 65536
# Hive does not split its answers, so the client accepts the maximum that the RFC allows.
_LONGEST_ANSWER = 0xFFFFFF
_COUNT = "00000001"  # number of uses of the nonce
_CNONCE_BYTES = 24


class DigestMechanism:
    """DIGEST-MD5 as an `acidsql.metastore.hive.sasl_mechanism.Mechanism`.

    Args:
        user: name of the user.
        password: password of the user.
        least: the weakest protection that is acceptable.
        digest_uri: service and host, as the server names itself.
        make_cnonce: returns a text that cannot be guessed.
    """

    name = "DIGEST-MD5"

    def __init__(
        self,
        user: str,
        password: str,
        least: Protection,
        *,
        digest_uri: str = DIGEST_URI,
        make_cnonce: Callable[[], str] = lambda: secrets.token_urlsafe(_CNONCE_BYTES),
    ) -> None:
        self._user = user
        self._password = password
        self._least = least
        self._uri = digest_uri
        self._make_cnonce = make_cnonce
        self._chosen: Protection | None = None
        self._expected = ""
        self._is_known = False
        self._longest = _LONGEST
        self._sent: Direction | None = None
        self._received: Direction | None = None

    @property
    def protection(self) -> Protection | None:
        """Protection that client and server have agreed on; None before the agreement."""
        return self._chosen

    @property
    def is_complete(self) -> bool:
        """Whether the server has shown that it knows the password."""
        return self._is_known

    @property
    def protects(self) -> bool:
        """Whether messages are protected."""
        return self._chosen in (Protection.INTEGRITY, Protection.PRIVACY)

    def respond(self, challenge: bytes | None) -> bytes:
        """Return the response to the server's challenge, or to None the initial response.

        Raises:
            SaslError: the server does not follow the protocol, does not know the password, or does
                not offer the required protection.
        """
        if challenge is None:
            return b""
        directives = _directives(challenge)
        if self._chosen is None:
            return self._answer(directives).encode()
        shown = directives.get("rspauth", [""])[0]
        if not hmac.compare_digest(shown.encode(), self._expected.encode()):
            raise SaslError("the server does not know the password: it is not who it should be")
        self._is_known = True
        return b""

    def wrap(self, message: bytes) -> Sequence[bytes]:
        """Split a message for the server into protected messages that the server accepts."""
        assert self._sent is not None
        size = self._longest - OVERHEAD
        return [
            self._sent.protect(message[begin : begin + size])
            for begin in range(0, len(message), size)
        ]

    def unwrap(self, message: bytes) -> bytes:
        """Return the content of a protected message of the server.

        Raises:
            SaslError: the message was changed on its way, or is not the next one.
        """
        assert self._received is not None
        return self._received.reveal(message)

    def _answer(self, offer: dict[str, list[str]]) -> str:
        nonces = offer.get("nonce", [])
        if len(nonces) != 1 or offer.get("algorithm") != ["md5-sess"]:
            raise SaslError("the server's challenge is none of DIGEST-MD5")
        (nonce,) = nonces
        chosen = self._choose(offer)
        qop = next(word for word, protection in _WORDS.items() if protection is chosen)
        realms = offer.get("realm", [_REALM])
        realm = _REALM if _REALM in realms else realms[0]
        cnonce = self._make_cnonce()
        secret = md5(f"{self._user}:{realm}:{self._password}".encode()).digest()
        session_key = md5(secret + f":{nonce}:{cnonce}".encode()).digest()

        def proof(method: str) -> str:
            # With protection of messages, the RFC requires zeros here instead of a digest.
            request = f"{method}:{self._uri}" + (":" + "0" * 32 if qop != "auth" else "")
            text = f"{session_key.hex()}:{nonce}:{_COUNT}:{cnonce}:{qop}:{_hex(request)}"
            return _hex(text)

        self._expected = proof("")
        self._chosen = chosen
        if self.protects:
            self._longest = _longest(offer)
            encrypts = chosen is Protection.PRIVACY
            self._sent = Direction(session_key, b"client-to-server", encrypts=encrypts)
            self._received = Direction(session_key, b"server-to-client", encrypts=encrypts)
        answer = {
            "charset": "utf-8" if "charset" in offer else "",
            "username": _quoted(self._user),
            "realm": _quoted(realm),
            "nonce": _quoted(nonce),
            "nc": _COUNT,
            "cnonce": _quoted(cnonce),
            "digest-uri": _quoted(self._uri),
            "maxbuf": str(_LONGEST_ANSWER) if self.protects else "",
            "response": proof("AUTHENTICATE"),
            "qop": qop,
            "cipher": _CIPHER if chosen is Protection.PRIVACY else "",
        }
        return ",".join(f"{name}={value}" for name, value in answer.items() if value)

    def _choose(self, offer: dict[str, list[str]]) -> Protection:
        """Return the strongest protection that the server offers; RC4 is the only encryption."""
        words = _words(offer, "qop") or ["auth"]
        offered = [_WORDS[word] for word in words if word in _WORDS]
        can_encrypt = _CIPHER in _words(offer, "cipher")
        usable = [
            protection
            for protection in Protection
            if can_encrypt or protection is not Protection.PRIVACY
        ]
        return agreed_protection(offered, usable, self._least)


def _directives(challenge: bytes) -> dict[str, list[str]]:
    """Return the values of a challenge by their names, without quotation marks.

    Raises:
        SaslError: the text is not a challenge.
    """
    directives: dict[str, list[str]] = {}
    text = challenge.decode("utf-8", "replace")
    position = 0
    while position < len(text):
        match = _DIRECTIVE.match(text, position)
        if match is None:
            raise SaslError(f"the server's challenge cannot be read: {text[:200]!r}")
        name, quoted, word = match.groups()
        value = word if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        directives.setdefault(name.lower(), []).append(value)
        position = match.end()
    return directives


def _words(offer: dict[str, list[str]], name: str) -> list[str]:
    values = ",".join(offer.get(name, []))
    return [word.strip().lower() for word in values.split(",") if word.strip()]


def _longest(offer: dict[str, list[str]]) -> int:
    """Return the maximum length of a message that the server accepts.

    Raises:
        SaslError: the server accepts no protected messages.
    """
    text = offer.get("maxbuf", [str(_LONGEST)])[0]
    if not re.fullmatch("[0-9]{1,10}", text) or int(text) <= OVERHEAD:
        raise SaslError(f"the server takes no protected messages (maxbuf={text!r})")
    return min(int(text), _LONGEST_ANSWER)


def _quoted(text: str) -> str:
    escaped = re.sub(r'(["\\])', r"\\\1", text)
    return f'"{escaped}"'


def _hex(text: str) -> str:
    return str(md5(text.encode()).hexdigest())
