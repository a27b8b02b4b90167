"""Settings from the environment."""

import pytest

from dashboard.settings import BadSetting, Settings, read_settings, unknown_settings

GOOD = [
    ("STORE", "/srv/clueline", "store", "/srv/clueline"),
    ("STORE", "relative/folder", "store", "relative/folder"),
    ("HOST", "0.0.0.0", "host", "0.0.0.0"),
    ("HOST", "::1", "host", "::1"),
    ("PORT", "1", "port", 1),
    ("PORT", "65535", "port", 65535),
    ("PORT", " 8051 ", "port", 8051),
    ("WORKERS", "1", "workers", 1),
    ("WORKERS", "64", "workers", 64),
    ("CACHE", "filesystem", "cache", "filesystem"),
    ("CACHE", "redis://localhost:6379/0", "cache", "redis://localhost:6379/0"),
    ("UPLOADS", "token", "uploads", "token"),
    ("UPLOADS", "Open", "uploads", "open"),
    ("UPLOADS", "off", "uploads", "off"),
    ("MAX_UPLOAD_MB", "1", "max_upload_mb", 1),
    ("MEMORY_MB", "64", "memory_mb", 64),
    ("HOSTS", "Lab.example, 10.0.0.5,[::1]", "hosts", "lab.example,10.0.0.5,[::1]"),
    ("LOG_LEVEL", "DEBUG", "log_level", "debug"),
    ("LOG_LEVEL", "error", "log_level", "error"),
]
BAD = [
    ("STORE", "ducklake:postgres:dbname=x"),
    ("STORE", "s3://bucket"),
    ("PORT", "0"),
    ("PORT", "65536"),
    ("PORT", "-1"),
    ("PORT", "80.5"),
    ("PORT", "http"),
    ("PORT", "٨٠٥٠"),
    ("WORKERS", "0"),
    ("WORKERS", "65"),
    ("WORKERS", "two"),
    ("CACHE", "memcached"),
    ("CACHE", "http://localhost"),
    ("UPLOADS", "yes"),
    ("MAX_UPLOAD_MB", "0"),
    ("MEMORY_MB", "1 GB"),
    ("MAX_UPLOAD_MB", "1e3"),
    ("HOSTS", "http://lab.example"),
    ("HOSTS", "lab.example:80"),
    ("LOG_LEVEL", "loud"),
]


@pytest.mark.parametrize(("name", "text", "field", "value"), GOOD)
def test_a_good_value_is_taken(name, text, field, value):
    settings = read_settings({f"CLUELINE_{name}": text, "PATH": "/bin"})
    assert getattr(settings, field) == value


@pytest.mark.parametrize(("name", "text"), BAD)
def test_a_bad_value_is_refused_by_name(name, text):
    with pytest.raises(BadSetting) as refused:
        read_settings({f"CLUELINE_{name}": text})
    assert f"CLUELINE_{name}" in str(refused.value)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("field", list(Settings.__dataclass_fields__))
def test_absent_and_blank_mean_the_default(field):
    assert read_settings({}) == Settings()
    assert getattr(read_settings({f"CLUELINE_{field.upper()}": "  "}), field) == getattr(Settings(), field)


def test_the_defaults_are_those_documented():
    settings = Settings()
    assert (settings.host, settings.port, settings.cache, settings.uploads) == ("127.0.0.1", 8050, "filesystem", "token")


def test_an_unknown_variable_with_our_prefix_is_noticed():
    assert unknown_settings({"CLUELINE_PROT": "8051", "CLUELINE_PORT": "8051", "PATH": "", "CLUELINE_CHROMIUM": ""}) == [
        "CLUELINE_PROT"
    ]
