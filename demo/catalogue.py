"""What the organisation keeps: projects, their environments, their keys, and values that are plainly fake."""

from __future__ import annotations

from random import Random
from typing import NamedTuple


class Project(NamedTuple):
    """A project, and how many keys of its own it has."""

    slug: str
    name: str
    description: str
    environments: tuple[str, ...]
    keys: int


PROJECTS = (
    Project(
        "webshop", "Web shop", "What customers see, and the checkout behind it.",
        ("development", "preview", "staging", "production"), 52,
    ),
    Project(
        "payments", "Payments", "Cards, invoices and refunds.",
        ("development", "staging", "production"), 41,
    ),
    Project(
        "data-platform", "Data platform", "Pipelines, the warehouse and its reports.",
        ("development", "production"), 33,
    ),
    Project(
        "mobile-api", "Mobile API", "What the apps talk to.",
        ("development", "preview", "staging", "production"), 27,
    ),
    Project(
        "edge", "Edge and CDN", "Certificates, zones and purge tokens.",
        ("preview", "production"), 12,
    ),
)  # fmt: skip
ENVIRONMENTS = {
    "production": ("Production", "Live: what customers see."),
    "staging": ("Staging", "The rehearsal: production's shape, made-up data."),
    "development": ("Development", "Shared by everybody's laptops."),
    "preview": ("Preview", "One short-lived copy for each pull request."),
}
#: Kept apart: changes need a reason, and it cannot be deleted.
PROTECTED = "production"
#: Set in staging, but not in production yet, which is what the home page points at.
COMING = {
    "PAYOUT_QUEUE_URL": "Where pay-outs wait",
    "PAYOUT_TOKEN": None,
    "SEPA_CREDITOR_ID": "Ours, at the bank",
}
#: The key whose master key is not loaded.
UNREADABLE = "TLS_CERTIFICATE"
#: How much of a project's keys an environment has: gaps are what the matrix is for.
COMPLETE = {"production": 1.0, "staging": 0.92, "development": 0.8, "preview": 0.55}

_SYSTEMS = {
    "DATABASE": ("the main database", ("URL", "REPLICA_URL", "POOL_SIZE", "PASSWORD")),
    "REDIS": ("the cache", ("URL", "TLS_CA")),
    "SMTP": ("outgoing mail", ("HOST", "USER", "PASSWORD", "FROM")),
    "S3": ("the object store", ("BUCKET", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "REGION")),
    "OIDC": ("single sign-on", ("ISSUER", "CLIENT_ID", "CLIENT_SECRET")),
    "SESSION": ("sessions", ("SIGNING_KEY", "LIFETIME_SECONDS")),
    "SEARCH": ("the search index", ("URL", "API_KEY")),
    "TRACING": ("traces", ("ENDPOINT", "TOKEN", "SAMPLE_RATE")),
    "ERRORS": ("error reports", ("DSN",)),
    "QUEUE": ("the job queue", ("URL", "USER", "PASSWORD")),
    "FEATURE_FLAGS": ("feature flags", ("SDK_KEY",)),
    "CARD_GATEWAY": ("the card gateway", ("MERCHANT_ID", "API_KEY", "WEBHOOK_SECRET")),
    "SHIPPING": ("the carrier", ("ACCOUNT", "API_TOKEN")),
    "MAPS": ("address look-up", ("API_KEY",)),
    "SMS": ("text messages", ("SENDER", "API_KEY")),
    "WAREHOUSE": ("the warehouse", ("DSN", "ROLE", "PRIVATE_KEY")),
    "SCHEDULER": ("the scheduler", ("TOKEN",)),
    "LDAP": ("the directory", ("BIND_DN", "BIND_PASSWORD")),
    "CDN": ("the CDN", ("ZONE", "PURGE_TOKEN")),
    "INVOICE": ("invoices", ("SIGNING_CERTIFICATE", "NUMBER_PREFIX")),
    "METRICS": ("metrics", ("PUSH_URL", "PUSH_TOKEN")),
    "TLS": ("the edge", ("CERTIFICATE", "PRIVATE_KEY")),
}
_WHAT = {
    "URL": "Where {} is", "PASSWORD": "Password of {}; rotated every quarter", "API_KEY": "Key of {}",
    "TOKEN": "Token of {}", "CLIENT_SECRET": "Secret of {}; belongs to the platform team",
    "SIGNING_KEY": "Signs {}; changing it logs everybody out", "WEBHOOK_SECRET": "Verifies calls of {}",
    "PRIVATE_KEY": "Private key of {}, in PEM",
}  # fmt: skip
#: How the names of keys end that are settings more than secrets: most projects have one value for them all.
SETTINGS = ("SIZE", "SECONDS", "RATE", "REGION", "ZONE", "ROLE", "SENDER", "FROM", "PREFIX", "MERCHANT_ID")


def keys_of(project: Project, random: Random) -> dict[str, str | None]:
    """A project's keys with their descriptions, of which some have none."""
    every = {
        f"{system}_{field}": _WHAT[field].format(label) if field in _WHAT else None
        for system, (label, fields) in _SYSTEMS.items()
        for field in fields
    }
    chosen = random.sample(sorted(every), min(project.keys, len(every)))
    return {key: every[key] for key in sorted(chosen)}


def present_in(environment: str, keys: list[str], random: Random) -> list[str]:
    """The keys that an environment has."""
    return [key for key in keys if random.random() < COMPLETE[environment]]


def value_of(key: str, environment: str, random: Random) -> str:
    """A value that could be one, and says that it is none."""
    fake = f"fake-{random.getrandbits(48):012x}"
    if key.endswith(("PRIVATE_KEY", "CERTIFICATE", "TLS_CA")):
        kind = "PRIVATE KEY" if key.endswith("PRIVATE_KEY") else "CERTIFICATE"
        return f"-----BEGIN {kind}-----\nTHIS+IS+NOT+A+REAL+ONE/{fake}\n-----END {kind}-----\n"
    if key.endswith(("URL", "ENDPOINT", "ISSUER", "DSN")):
        return f"https://app:{fake}@{key.lower().replace('_', '-')}.{environment}.example.test/"
    if key.endswith(("SIZE", "SECONDS", "RATE")):
        return str(random.choice([5, 10, 20, 3600]))
    return fake


def common(keys: list[str]) -> dict[str, str]:
    """The settings among these keys, with a value that is the same in each environment."""
    numbers = ("SIZE", "SECONDS", "RATE")
    return {
        key: "10" if key.endswith(numbers) else f"fake-{key.lower().replace('_', '-')}"
        for key in keys
        if key.endswith(SETTINGS)
    }
