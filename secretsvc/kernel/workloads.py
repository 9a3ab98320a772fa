"""The settings of workload issuers: one group for each name in `WORKLOAD_ISSUERS` (contract 6.3)."""

from __future__ import annotations

from pathlib import Path

from secretsvc.kernel.claims import Requirement, SubjectTemplate, requirements, subject_template
from secretsvc.kernel.parsers import algorithms, comma_separated, file_path, key_url, required_text
from secretsvc.kernel.settings import Setting, Settings, Sources


class Workload(Sources):
    """What is set for one issuer whose tokens machines bring."""

    issuer = Setting(required_text)
    jwks_url = Setting(key_url)
    audience = Setting(comma_separated)
    algorithms: Setting[tuple[str, ...]] = Setting(algorithms, ("RS256", "ES256"))
    subject: Setting[SubjectTemplate] = Setting(subject_template, subject_template("{sub}"))
    require: Setting[tuple[Requirement, ...]] = Setting(requirements)
    ca_file: Setting[Path | None] = Setting(file_path, None)
    token_file: Setting[Path | None] = Setting(file_path, None)

    def __init__(self, settings: Settings, name: str) -> None:
        super().__init__(settings.ini, settings.environ)
        self._settings, self.name = settings, name
        self.variable_prefix = variable_prefix(name)
        self.ini_prefix = f"secretsvc.workload.{name}."

    def complain(self, text: str) -> None:
        """Report a problem of a setting as one of the service's own settings."""
        self._settings.complain(text)

    @property
    def prefix(self) -> str:
        """What the subjects of its tokens begin with, and no service token's name may."""
        return f"{self.name}:"


def variable_prefix(name: str) -> str:
    """What the variables of a workload issuer of that name begin with."""
    return f"WORKLOAD_{name.upper().replace('-', '_')}_"


def workloads(settings: Settings) -> list[Workload]:
    """Each issuer that is named, as often as it is named. Raises `ServerMisconfigured`."""
    return [Workload(settings, name) for name in settings.workload_issuers]
