"""Which variables are taken for misspelt settings, and which belong to other programs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secretsvc.kernel.near_names import edits, near_variables, nearest
from secretsvc.kernel.settings import Settings

KNOWN = {setting.variable for setting in Settings.known().values()}
SHELL = """
    BASH_ENV CDPATH COLORTERM COLUMNS DBUS_SESSION_BUS_ADDRESS DISPLAY EDITOR ENV HISTSIZE HOME HOSTNAME
    LANG LC_ALL LESSOPEN LINES LOGNAME LS_COLORS MAIL MANPATH OLDPWD PAGER PATH PS1 PWD SHELL SHLVL
    SSH_AUTH_SOCK SSH_CLIENT SSH_CONNECTION SSH_TTY SUDO_COMMAND SUDO_USER TERM TMPDIR TZ USER VISUAL
    XDG_RUNTIME_DIR XDG_SESSION_ID _ HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy no_proxy PYTHONPATH
    VIRTUAL_ENV PGHOST PGPASSWORD PGUSER PGDATABASE
"""
SYSTEMD = """
    CACHE_DIRECTORY CHAMELEON_CACHE CREDENTIALS_DIRECTORY INVOCATION_ID JOURNAL_STREAM LISTEN_FDNAMES
    LISTEN_FDS LISTEN_PID LOGS_DIRECTORY MAINPID MANAGERPID MEMORY_PRESSURE_WATCH MEMORY_PRESSURE_WRITE
    NOTIFY_SOCKET RUNTIME_DIRECTORY STATE_DIRECTORY SYSTEMD_EXEC_PID WATCHDOG_PID WATCHDOG_USEC
    SERVICE_RESULT EXIT_STATUS
"""
KUBERNETES = """
    KUBERNETES_PORT KUBERNETES_PORT_443_TCP KUBERNETES_PORT_443_TCP_ADDR KUBERNETES_SERVICE_HOST
    KUBERNETES_SERVICE_PORT KUBERNETES_SERVICE_PORT_HTTPS POD_IP POD_NAME NODE_NAME NAMESPACE
    SECRETSVC_PORT SECRETSVC_SERVICE_HOST SECRETSVC_SERVICE_PORT DATABASE_PORT DATABASE_PORT_5432_TCP
    DATABASE_SERVICE_HOST DATABASE_HOST DATABASE_NAME DATABASE_USER DATABASE_PASSWORD DATABASE
    REDIS_PORT REDIS_URL GPG_KEY PYTHON_VERSION
"""
GITHUB = """
    ACTIONS_CACHE_URL ACTIONS_ID_TOKEN_REQUEST_TOKEN ACTIONS_ID_TOKEN_REQUEST_URL ACTIONS_RUNTIME_TOKEN
    CI GITHUB_ACTION GITHUB_ACTIONS GITHUB_ACTOR GITHUB_API_URL GITHUB_ENV GITHUB_EVENT_NAME
    GITHUB_HEAD_REF GITHUB_JOB GITHUB_OUTPUT GITHUB_PATH GITHUB_REF GITHUB_REPOSITORY GITHUB_RUN_ID
    GITHUB_SERVER_URL GITHUB_SHA GITHUB_TOKEN GITHUB_WORKSPACE RUNNER_ARCH RUNNER_DEBUG RUNNER_NAME
    RUNNER_OS RUNNER_TEMP RUNNER_TOOL_CACHE ImageOS
"""
OTHERS = """
    ACCESS_KEY ACCESS_TOKEN AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY API_KEY MASTER_PEM MASTER_HOST
    SECRET SECRET_KEY SECRETS SERVICE SERVICE_NAME SERVER_TOKEN STORAGE TIMEOUT TOKEN URL KEY PROVIDER
    PORT PUBLIC_URL LOG_LEVEL LIMIT
"""


@pytest.mark.parametrize("names", [SHELL, SYSTEMD, KUBERNETES, GITHUB, OTHERS])
def test_common_variables_belong_to_other_programs(names):
    assert [*near_variables(Settings({}, dict.fromkeys(names.split(), "x")))] == []


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("TRUSTED_PROXY", "TRUSTED_PROXIES"),
        ("ADMINS", "BOOTSTRAP_ADMINS"),
        ("OPERATIONS", "OPERATIONS_LISTEN"),
        ("AUDIT_SEAL", "AUDIT_SEAL_SECONDS"),
        ("SECRET_MAX", "SECRET_MAX_BYTES"),
        ("RATELIMIT", "RATE_LIMIT"),
        ("DATABSE_ULR", "DATABASE_URL"),
        ("MASTRE_KEYS", "MASTER_KEY"),
        ("BOOTSTRAP_ADMIN", "BOOTSTRAP_ADMINS"),
        ("SERVICE_TOKEN", "SERVICE_TOKENS"),
        ("ACCES_ISUER", "ACCESS_ISSUER"),
        ("DRAIN_SECS", None),
    ],
)
def test_a_misspelt_setting_is_recognised(variable, meant):
    assert nearest(variable, KNOWN) == meant


def test_words_of_ours_name_settings_that_exist():
    assert {nearest(word, KNOWN) for word in ("ADMINS", "BOOTSTRAP", "DENIAL", "DRAIN", "PLAINTEXT")} <= KNOWN


@given(word=st.text("AB_", min_size=2, max_size=8), at=st.integers(0, 7), letter=st.sampled_from("ABC"))
def test_an_edit_is_a_letter_more_less_other_or_two_swapped(word, at, letter):
    at %= len(word)
    edited = {
        word[:at] + letter + word[at:],
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at + 1 :],
        word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
    }
    for other in edited - {word}:
        assert edits(word, other) == edits(other, word) == 1
    assert edits(word, word) == 0
    assert edits(word, f"C{word}C") == 2
