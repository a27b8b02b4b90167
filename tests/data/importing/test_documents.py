"""Files that are not tables: JSON documents, and zips with unusual compression or encryption."""

import base64
import json
import sys

import polars as pl
import pytest

from clueline.data.importing import file_folder_or_zip
from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Refused
from clueline.data.importing.staging import open_staging
from clueline.data.importing.table_contract import Column
from tests.helpers.encrypted_zips import encrypted_zip

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile

# packet1.json with the content [], encrypted by Info-ZIP (zip -P sesame) because Python cannot encrypt zips.
ENCRYPTED = (
    "UEsDBAoACQAAAFlpdl0pu0wNDgAAAAIAAAAMABwAcGFja2V0MS5qc29uVVQJAAPZ6QJr2ekCa3V4CwABBAAAAAAEAAAAAMFTBlhXZBIRx8R59f"
    "TOUEsHCCm7TA0OAAAAAgAAAFBLAQIeAwoACQAAAFlpdl0pu0wNDgAAAAIAAAAMABgAAAAAAAEAAACkgQAAAABwYWNrZXQxLmpzb25VVAUAA9np"
    "Amt1eAsAAQQAAAAABAAAAABQSwUGAAAAAAEAAQBSAAAAZAAAAAAA"
)
COLUMNS = (Column("id", required=True), Column("confidence", "number", low=0, high=1, hint="percent"))


@pytest.fixture
def staging(store):
    with open_staging(store) as staging:
        yield staging


def incoming(staging, path, content, **options):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Incoming(path, staging, **options)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('{"a": [1,\n 2]}', {"a": [1, 2]}), ("[1, 2]", [1, 2]), ('\ufeff\n {"a": NaN}\n', {"a": float("nan")}),
        ('{"a": 1}\n', {"a": 1}), ('{"a": 1}\n\n{"a": 2}\n', None), ("a,b\n1,2\n", None),
    ],
)  # fmt: skip
def test_json_documents_are_distinguished_from_tables(staging, tmp_path, text, content):
    document = incoming(staging, tmp_path / "file", text).document
    assert repr(document) == repr(content)


@pytest.mark.parametrize(("text", "reason"), [('{"a": [1,\n 2}', "delimiter"), ("[" * 100_000, "nests"), ('["\\ud8', "JSON")])
def test_a_broken_document_is_none_with_a_reason(staging, tmp_path, text, reason):
    file = incoming(staging, tmp_path / "file.json", text)
    assert file.document is None
    assert reason in str(file.unreadable)


def test_a_document_of_one_line_is_parsed_once(staging, tmp_path, monkeypatch):
    parsed = []
    loads = json.loads
    monkeypatch.setattr(file_folder_or_zip.json, "loads", lambda text: parsed.append(len(text)) or loads(text))
    assert incoming(staging, tmp_path / "file.json", '{"a": [1, 2]}').document == {"a": [1, 2]}
    assert parsed == [13]


def test_a_packed_document_is_read(staging, tmp_path):
    import gzip

    assert incoming(staging, tmp_path / "file.json.gz", gzip.compress(b'{"a":\n1}')).document == {"a": 1}


def test_cells_of_a_document_are_checked_like_a_table(staging):
    rows = pl.DataFrame({"id": ["a", None, "c"], "confidence": ["0.5", "1", "85"], "place": ["sample a", "sample b", "sample c"]})
    file = staging.add_rows("log.json", rows)
    assert staging.load(file, COLUMNS) == ["id", "confidence"]
    assert [(p.row, p.column, p.value, p.hint) for p in staging.report.problems] == [
        ("sample b", "id", None, None), ("sample c", "confidence", "85", "percent"),
    ]  # fmt: skip
    assert str(staging.report.problems[0]) == "log.json, sample b, column id: a value is required here"
    assert staging.connection.execute("select confidence from loaded").fetchall() == [(0.5,), (1.0,), (85.0,)]


def test_a_document_without_rows_can_be_loaded(staging):
    staging.load(staging.add_rows("log.json", pl.DataFrame(schema={"id": pl.String})), COLUMNS)
    assert staging.connection.execute("select count(*) from loaded").fetchall() == [(0,)]


def test_members_packed_with_zstd_are_read(staging, tmp_path):
    with zipfile.ZipFile(tmp_path / "log.zip", "w", zipfile.ZIP_ZSTANDARD) as archive:
        archive.writestr("header.json", json.dumps({"a": 1}) * 100)
    folder = Incoming(tmp_path / "log.zip", staging).folder
    assert (folder / "header.json").read_text() == json.dumps({"a": 1}) * 100


@pytest.fixture
def encrypted(tmp_path):
    path = tmp_path / "secret.zip"
    path.write_bytes(base64.b64decode("".join(ENCRYPTED)))
    return path


def test_an_encrypted_zip_needs_its_password(staging, encrypted):
    for password in (None, "", "wrong"):
        with pytest.raises(Refused) as refused:
            _ = Incoming(encrypted, staging, password=password).folder
        assert refused.value.problems[0].hint == "password"
    assert (Incoming(encrypted, staging, password="sesame").folder / "packet1.json").read_text() == "[]"


def test_a_wrong_password_past_the_check_byte_is_refused(staging, tmp_path):
    """A byte of the header detects 255 of 256 wrong passwords; with the others the file unpacks to nonsense."""
    path = tmp_path / "release.zip"
    path.write_bytes(encrypted_zip({"packet1.json": b"[]"}, "sesame"))
    with zipfile.ZipFile(path) as archive:
        wrong = next(word for word in map(str, range(100_000)) if _gets_past_the_check(archive, word))
    with pytest.raises(Refused) as refused:
        _ = Incoming(path, staging, password=wrong).folder
    assert [problem.hint for problem in refused.value.problems] == ["password"]


def _gets_past_the_check(archive, password):
    try:
        archive.open("packet1.json", pwd=password.encode()).close()
    except RuntimeError:
        return False
    return True
