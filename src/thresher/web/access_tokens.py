"""Access tokens, their holders and roles."""

import hmac
import os
import secrets
import stat
import tomllib
from pathlib import Path
from typing import NamedTuple

from thresher.errors import ParameterError

ROLES = ("reader", "teacher", "admin")  # each includes the rights of those before it
_MIN_LENGTH = 8


class Holder(NamedTuple):
    """The holder of a token. The name is empty for the shared token, whose user is not known."""

    name: str
    role: str

    def may(self, role: str) -> bool:
        """Return whether the holder has the rights of a role."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Tokens:
    """The tokens of a service.

    >>> tokens = Tokens({"a-long-secret": Holder("ada", "teacher")})
    >>> tokens.holder("a-long-secret"), tokens.holder("another")
    (Holder(name='ada', role='teacher'), None)
    """

    def __init__(self, holders: dict[str, Holder]) -> None:
        self._holders = [(token.encode(), holder) for token, holder in holders.items()]

    def holder(self, token: str) -> Holder | None:
        """Return the holder of a token, in constant time."""
        given, match = token.encode("utf-8", "replace"), None
        for known, holder in self._holders:
            if hmac.compare_digest(known, given):
                match = holder
        return match


def new_token() -> str:
    """Return a token that cannot be guessed."""
    return secrets.token_urlsafe(24)


def check_token(token: str) -> str:
    """Return a token that a header can carry, or raise a ParameterError."""
    if len(token) < _MIN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        raise ParameterError(f"a token must have {_MIN_LENGTH} or more plain letters, digits and signs, without spaces")
    return token


def read_tokens(path: str | os.PathLike[str]) -> dict[str, Holder]:
    """Return the holders that a TOML file names: [name] with role and token."""
    file = Path(path)
    if os.name == "posix" and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ParameterError("others than its owner may use it", path=file, hint=f"chmod 600 {file.name}")
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{error}", path=file) from None
    holders: dict[str, Holder] = {}
    for name, entry in entries.items():
        given = entry if isinstance(entry, dict) else {}
        role, token = given.get("role"), given.get("token")
        if role not in ROLES or not isinstance(token, str) or set(given) != {"role", "token"}:
            raise ParameterError(f"[{name}] needs a token and a role", path=file, hint=f"allowed: {', '.join(ROLES)}")
        if check_token(token) in holders:
            raise ParameterError(f"[{name}] has the token of another", path=file)
        holders[token] = Holder(name, role)
    if not holders:
        raise ParameterError("there are no tokens in it", path=file)
    return holders
