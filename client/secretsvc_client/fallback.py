"""The last good state, encrypted, for when the service cannot be reached (exit code 3, and nothing else).

The file is AES-GCM under a key that is never beside it. What it is of (service,
environment, form) is authenticated with it, so that no file stands in for another.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import time
from pathlib import Path

from secretsvc_client import output
from secretsvc_client.api import Json, Service
from secretsvc_client.destination import write_to
from secretsvc_client.errors import Failure, Refused, Unreachable, WrongUse
from secretsvc_client.grammar import printable
from secretsvc_client.origins import origin_of
from secretsvc_client.selection import Selection, State
from secretsvc_client.settings import Settings

_MAGIC = b"secretsvc-fallback 1\n"
_NONCE, _KEY = 12, 32
_LARGEST = 64 * 1024 * 1024
#: Seconds by which a clock may have been wrong when the file was written.
_SKEW = 300.0
#: Answers of the service itself that end the access to an older state.
_DELETING = (401, 403, 404)


class Fallback:
    """The file of one environment, and the key to it."""

    def __init__(self, path: Path, key: bytes, about: bytes, age: float) -> None:
        """`about` is what the file is of, `age` the hours that it may be old."""
        self.path, self._key, self._about, self._age = path, key, about, age

    @classmethod
    def of(cls, settings: Settings, path: str, age: float, media: str) -> Fallback:
        """The fallback of `--fallback`; raises `WrongUse` where it cannot be kept safely."""
        if not 0 < age <= 24 * 366:
            raise WrongUse("--fallback-age takes hours, more than 0 and at most 8784")
        try:
            import cryptography.hazmat.primitives.ciphers.aead as _  # noqa: F401 - whether it is there
        except ImportError:
            raise WrongUse(
                "--fallback needs the package cryptography, which is not there",
                "Install secretsvc-client[fallback], or leave --fallback out.",
            ) from None
        asked = (settings.need_project(), settings.need_environment(), media)
        about = "\n".join((str(origin_of(settings.need_url())), *asked)).encode()
        return cls(Path(path), _key_of(about), about, age)

    def fetch(self, service: Service, selection: Selection) -> State:
        """The present state, which is kept; or the kept one, loudly, where the service cannot be reached."""
        try:
            state = selection.fetch_all(service)
        except Unreachable as failure:
            return self._instead(selection, failure)
        except Refused as failure:
            self.forget_after(failure)
            raise
        narrowed = selection.narrowed(state)
        self.keep(state, selection.mode)
        return narrowed

    def keep(self, state: State, mode: int | None = None) -> None:
        """Write the file, with the permissions of `mode`; a disk that fails is reported and stops nothing."""
        kept: Json = {"at": time.time(), "rev": state.rev, "secrets": dict(state.secrets)}
        if state.content is not None:
            kept["content"] = base64.b64encode(state.content).decode()
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = os.urandom(_NONCE)
        sealed = AESGCM(self._key).encrypt(nonce, json.dumps(kept).encode(), _MAGIC + self._about)
        try:
            write_to(self.path, _MAGIC + nonce + sealed, mode)
        except Failure as failure:
            output.warn(f"the fallback was not kept: {failure.message}")

    def forget_after(self, failure: Failure) -> None:
        """Remove the file if the service itself says that access has ended."""
        if failure.is_own and failure.status in _DELETING and os.path.isfile(self.path):
            # The file itself, if the path is a link; a pipe or a device stays.
            _remove(os.path.realpath(self.path))

    def _instead(self, selection: Selection, failure: Unreachable) -> State:
        kept = self._opened()
        if kept is None:
            raise failure
        age = time.time() - float(kept["at"])
        if not -_SKEW <= age <= self._age * 3600:
            raise Unreachable(
                f"{failure.message}, and the fallback is too old or of the future", failure.hint
            )
        content = base64.b64decode(kept["content"]) if "content" in kept else None
        state = selection.narrowed(State(kept["rev"], kept["secrets"], content))
        output.warn(
            f"THE SERVICE CANNOT BE REACHED ({failure.message}): GOING ON WITH REVISION {state.rev}"
            f" OF {age / 3600:.1f} HOURS AGO, FROM {printable(self.path)}"
        )
        return state

    def _opened(self) -> Json | None:
        """What the file holds; None where there is none that this key opens."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if os.path.exists(self.path) and not os.path.isfile(self.path):
            return None
        try:
            with self.path.open("rb") as file:
                raw = file.read(_LARGEST)
        except FileNotFoundError:
            return None
        except OSError as error:
            output.warn(f"the fallback cannot be read: {error.strerror}")
            return None
        start = len(_MAGIC) + _NONCE
        try:
            opened = AESGCM(self._key).decrypt(
                raw[len(_MAGIC) : start], raw[start:], raw[: len(_MAGIC)] + self._about
            )
        except (InvalidTag, ValueError):
            output.warn("the fallback is of another environment, of another key, or damaged: it is not used")
            return None
        kept: Json = json.loads(opened)
        return kept


def _key_of(about: bytes) -> bytes:
    """The key of the environment's variable, else one that the system's keyring holds or is given."""
    text = os.environ.get("SECRETSVC_FALLBACK_KEY")
    if text is None:
        text = _of_keyring(about)
    try:
        key = base64.b64decode(text.strip().translate(str.maketrans("-_", "+/")) + "==", validate=False)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY:
        raise WrongUse(
            "SECRETSVC_FALLBACK_KEY is not 32 bytes in base64", "Make one: head -c 32 /dev/urandom | base64"
        )
    return key


def _of_keyring(about: bytes) -> str:
    try:
        import keyring
    except ImportError:
        raise WrongUse(
            "--fallback has no key",
            "Set SECRETSVC_FALLBACK_KEY to 32 bytes in base64, or install secretsvc-client[keyring].",
        ) from None
    name = about.decode().replace("\n", " ")
    try:
        found: str | None = keyring.get_password("secretsvc-fallback", name)
        if found is None:
            found = base64.b64encode(os.urandom(_KEY)).decode()
            keyring.set_password("secretsvc-fallback", name, found)
    except Exception as error:  # each keyring has errors of its own
        raise WrongUse(
            f"the system's keyring gives no key ({type(error).__name__})",
            "Set SECRETSVC_FALLBACK_KEY to 32 bytes in base64.",
        ) from None
    return found


def _remove(path: str) -> None:
    """Remove a file, or empty it where its folder allows no removal, such as a bind mount."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError:
        try:
            os.truncate(path, 0)
        except OSError as error:
            output.warn(f"the fallback cannot be removed: {error.strerror}")
