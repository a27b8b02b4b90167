"""Settings from the environment, and the page that documents them."""

import pytest

from clueline.dashboard.settings import FIELDS, BadSetting, Settings, documentation, read_settings, unknown_settings
from tests.helpers.paths import ROOT

GOOD = [
    ("STORE", "/srv/clueline", "/srv/clueline"), ("STORE", "relative/folder", "relative/folder"),
    ("HOST", "0.0.0.0", "0.0.0.0"), ("HOST", "::1", "::1"),
    ("PORT", "1", 1), ("PORT", "65535", 65535), ("PORT", " 8051 ", 8051), ("WORKERS", "1", 1), ("WORKERS", "64", 64),
    *(("CACHE", text, text) for text in ("filesystem", "redis://localhost:6379/0")), ("CACHE_MB", "64", 64),
    ("UPLOADS", "token", "token"), ("UPLOADS", "Open", "open"), ("UPLOADS", "off", "off"), ("MAX_UPLOAD_MB", "1", 1),
    ("MEMORY_MB", "64", 64), ("HOSTS", "Lab.example, 10.0.0.5,[::1]", ("lab.example", "10.0.0.5", "[::1]")),
    ("EMBED", "https://wiki.example, http://10.0.0.5:8080,'self'", ("https://wiki.example", "http://10.0.0.5:8080", "'self'")),
    ("LOG_LEVEL", "DEBUG", "debug"), ("LOG_LEVEL", "error", "error"), ("DRAIN_SECONDS", "60", 60), ("QUERY_SECONDS", "1", 1),
    ("TRUSTED_PROXIES", "10.0.0.0/8, 192.0.2.1,FD00::/8", ("10.0.0.0/8", "192.0.2.1", "fd00::/8")),
    ("DRAIN_NOTICE_SECONDS", "0", 0), ("LOG_FORMAT", "JSON", "json"), ("PROMETHEUS", "on", "on"),
    ("GRACE_PASSWORD", "Se same", "Se same"), ("URL", "https://lab.example:8443", "https://lab.example:8443"),
]  # fmt: skip
BAD = {
    "STORE": ["ducklake:postgres:dbname=x", "s3://bucket"],
    "EMBED": ["wiki.example", "https://wiki.example/page", "https://wiki.example; script-src *", "*"],
    "PORT": ["0", "65536", "-1", "80.5", "http", "80.0", "٨٠٥٠"], "WORKERS": ["0", "65", "two"],
    "CACHE": ["memcached", "http://localhost"], "CACHE_MB": ["0"],
    "TRUSTED_PROXIES": ["10.0.0.0/33", "10.0.0.1/8", "proxy.example"], "USER_HEADER": ["X-Remote User", "X_Remote_User"],
    "UPLOADS": ["yes"], "MAX_UPLOAD_MB": ["0", "1e3"], "MEMORY_MB": ["1 GB"], "HOSTS": ["http://lab.example", "lab.example:80"],
    "LOG_LEVEL": ["loud"], "URL": ["lab.example", "https://lab.example/clueline", "ftp://lab.example"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "text", "value"), GOOD)
def test_a_good_value_is_taken(name, text, value):
    settings = read_settings({f"CLUELINE_{name}": text, "PATH": "/bin"})
    assert getattr(settings, name.lower()) == value


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_a_bad_value_is_refused_by_name(name, text):
    with pytest.raises(BadSetting) as refused:
        read_settings({f"CLUELINE_{name}": text})
    assert f"CLUELINE_{name}" in str(refused.value)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("field", list(FIELDS))
def test_absent_and_blank_mean_the_default(field):
    assert read_settings({}) == Settings()
    assert getattr(read_settings({f"CLUELINE_{field.upper()}": "  "}), field) == getattr(Settings(), field)


MESSAGES = [
    ("PORT", "x", "CLUELINE_PORT must be a whole number from 1 to 65535, not 'x'"),
    ("UPLOADS", "yes", "CLUELINE_UPLOADS must be one of token, open, off, not 'yes'"),
    ("STORE", "s3://b", "CLUELINE_STORE must be the path of a folder, or postgres://HOST/DATABASE?objects=PATH, not 's3://b'"),
    ("CACHE", "memcached", "CLUELINE_CACHE must be filesystem or a redis:// address, not 'memcached'"),
]


@pytest.mark.parametrize(("name", "text", "message"), MESSAGES)
def test_the_error_says_what_is_expected(name, text, message):
    with pytest.raises(BadSetting) as refused:
        read_settings({f"CLUELINE_{name}": text})
    assert str(refused.value) == message


@pytest.mark.parametrize("start", ["valkey://user:secret", "redis:/user:secret", "redis:user:sec/secret"])
def test_the_error_does_not_reveal_a_password(start):
    with pytest.raises(BadSetting) as refused:
        read_settings({"CLUELINE_CACHE": f"{start}@cache.example:6379"})
    assert "secret" not in str(refused.value) and "cache.example" in str(refused.value)


def test_an_unknown_variable_gets_a_warning():
    environment = {"CLUELINE_PROT": "8051", "CLUELINE_PORT": "8051", "PATH": "", "CLUELINE_XYZZY": ""}
    misspelt, strange = unknown_settings(environment)
    assert "CLUELINE_PROT" in misspelt and "did you mean CLUELINE_PORT?" in misspelt
    assert "CLUELINE_XYZZY" in strange and "docs/settings.md" in strange


def test_the_documentation_is_generated():
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == documentation()


@pytest.mark.parametrize("name", list(FIELDS))
def test_every_setting_has_a_row(name):
    (row,) = [line for line in documentation().splitlines() if line.startswith(f"| `CLUELINE_{name.upper()}` |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == 4 and all(cells) and cells[3].endswith(".")


def test_settings_are_shown_without_the_password():
    shown = repr(Settings(port=8051, grace_password="sesame"))
    assert "sesame" not in shown and "port=8051" in shown
