"""Who sees, names and changes mappings of columns over HTTP, and that none is used unasked."""

import pytest

from clueline.data.store.kept_mappings import MAPPINGS, keep_mapping
from clueline.data.store.scopes import STORE, of_dataset, of_owner
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.uploads import upload_client

RIGHT = (True, True, True, False)
TABLE = "id,confidence,ok\n" + "".join(f"q{n},0.{n + 5},{int(right)}\n" for n, right in enumerate(RIGHT))
TURNED = 'columns = ["id", "confidence", "ok"]\n\n[roles]\nquestion_id = ["id"]\nconfidence = ["confidence"]\nwrong = ["ok"]\n'
ADDRESS = "/api/v1/datasets"


@pytest.fixture
def server(copied):
    """A server, and headers of two uploaders, of an administrator and of somebody who can only read."""
    made = upload_client(copied)
    tokens = Tokens(made.service.store.register)
    made.files = made.service.store.files
    made.headers = {
        name: {"Authorization": f"Bearer {tokens.create(name, right)}"}
        for name, right in (("ben", "upload"), ("kim", "upload"), ("root", "admin"), ("eve", "read"))
    }
    return made


def send(server, by, query="", table=TABLE, **form):
    address = f"{ADDRESS}?dataset=mapped&model={by}&{query}"
    return server.client.post(address, data=table.encode(), headers=server.headers[by], **form)


def accuracy(server, run):
    store = server.service.store
    return sum(row[0] for row in store.snapshot().rows(f"select correct from {store.snapshot().responses([run])}")) / len(RIGHT)


def kept_by(server, by, name="lab-table"):
    keep_mapping(server.files, name, TURNED, of_owner(by), by)


def test_a_mapping_that_anybody_keeps_changes_no_file_of_others(server):
    """An accuracy of .75 stays .75."""
    kept = send(server, "ben", "column.wrong=ok&save_mapping=lab-table&confidence_scale=unit")
    assert kept.status_code == 201 and (kept.json["mapping"], kept.json["mapping_owner"]) == ("lab-table", "ben")
    assert accuracy(server, kept.json["runs"][0]["run"]) == 0.25
    for by in ("kim", "ben"):
        table = TABLE.replace("0.5", f"0.{len(by)}1" if by == "kim" else "0.45")
        tried = send(server, by, "column.correct=ok&dry_run=1", table)
        assert tried.status_code == 200, tried.text
        offered = any("lab-table of ben fits these columns" in warning for warning in tried.json["warnings"])
        assert offered == (by == "ben"), "what is somebody's own is offered only to them"
        assert ({"hint": "mapping", "remedy": "mapping=NAME reads the columns as it says"} in tried.json["remedies"]) == offered
        stored = send(server, by, "column.correct=ok", table)
        assert stored.json["mapping"] is None and accuracy(server, stored.json["runs"][0]["run"]) == 0.75
    named = send(server, "ben", "mapping=lab-table", TABLE.replace("0.5", "0.4"))
    assert (named.json["mapping"], named.json["mapping_owner"]) == ("lab-table", "ben")
    assert accuracy(server, named.json["runs"][0]["run"]) == 0.25


def test_somebody_elses_mapping_and_none_answer_the_same(server):
    kept_by(server, "ben")
    answers = [send(server, "kim", f"mapping={name}") for name in ("lab-table", "nosuch-tab", "owner:ben/lab-table")]
    assert {answer.status_code for answer in answers} == {400}
    told = {
        answer.text.replace(name, "NAME")
        for answer, name in zip(answers, ("lab-table", "nosuch-tab", "owner:ben/lab-table"), strict=True)
    }
    assert len({text.split('"request_id"')[0] for text in told}) == 1 and "ben" not in told.pop()
    assert answers[0].json["error"]["allowed"] == []
    keep_mapping(server.files, "lab-table", TURNED, of_owner("kim"), "kim")  # under the same name
    assert send(server, "kim", "mapping=lab-table").json["mapping_owner"] == "kim"
    assert send(server, "ben", "mapping=lab-table", TABLE.replace("0.5", "0.4")).json["mapping_owner"] == "ben"


def test_mappings_are_offered_to_who_may_see_them(server):
    keep_mapping(server.files, "for-all", TURNED, STORE, "ben")
    keep_mapping(server.files, "of-tone", TURNED, of_dataset("tone"), "ben")
    Tokens(server.service.store.register).make_private("tone", ["ben"])
    for by, names in (("ben", {"for-all", "of-tone"}), ("kim", {"for-all"}), ("root", {"for-all", "of-tone"})):
        tried = send(server, by, "column.correct=ok&dry_run=1").json
        offers = {name for name in ("for-all", "of-tone") if any(f"{name} of ben fits" in text for text in tried["warnings"])}
        assert offers == names, by
        listed = server.client.get("/api/v1/mappings", headers=server.headers[by])
        assert {row["name"] for row in listed.json["mappings"]} == names
        for name in ("for-all", "of-tone"):
            answer = send(server, by, f"mapping={name}&dry_run=1")
            assert (answer.status_code == 200) == (name in names)
            assert name in names or (answer.json["error"]["code"], answer.json["error"]["allowed"]) == (
                "unknown_value",
                ["for-all"],
            )


def test_a_file_that_asks_for_columns_is_told_of_the_mapping(server):
    odd = TURNED.replace('"confidence"', '"x1"').replace('"ok"', '"x2"')
    keep_mapping(server.files, "odd", odd, STORE, "ben")
    table = TABLE.replace("confidence", "x1").replace("ok", "x2")
    refused = send(server, "kim", "format=table", table)
    assert refused.status_code == 422
    offer = "the mapping odd of ben fits these columns, and was not used; name it to use it."
    *tried, offered = refused.json["error"]["advice"]
    assert offered == f"upload: {offer}" and all("4 questions, accuracy 75 %" in sentence for sentence in tried)
    assert send(server, "kim", "mapping=odd", table).status_code == 201


def test_a_damaged_mapping_affects_only_who_names_it(server):
    kept_by(server, "ben", "torn")
    (path,) = (server.files.root / MAPPINGS.folder).iterdir()
    path.write_bytes(path.read_bytes()[:-30])
    for by in ("ben", "kim"):
        assert send(server, by, "column.correct=ok", TABLE.replace("0.5", f"0.{len(by)}{ord(by[0])}")).status_code == 201
    told = send(server, "ben", "mapping=torn")
    assert told.status_code == 409 and told.json["error"]["code"] == "damaged_mapping"
    assert "The mapping 'torn' is damaged" in told.json["error"]["message"]
    assert send(server, "kim", "mapping=torn").status_code == 400
    assert server.client.delete("/api/v1/mappings/torn", headers=server.headers["ben"]).status_code == 200
    assert send(server, "ben", "column.wrong=ok&save_mapping=torn", TABLE.replace("0.5", "0.4")).json["mapping"] == "torn"


def test_everybody_removes_only_their_own(server):
    kept_by(server, "ben")
    keep_mapping(server.files, "for-all", TURNED, STORE, "ben")
    for by, name, status in (
        ("eve", "lab-table", 403),
        ("kim", "lab-table", 404),
        ("kim", "nosuch", 404),
        ("kim", "for-all", 403),
        ("ben", "for-all", 403),
        ("ben", "lab-table", 200),
        ("root", "for-all", 200),
    ):
        answer = server.client.delete(f"/api/v1/mappings/{name}", headers=server.headers[by])
        assert answer.status_code == status, (by, name, answer.text)
    assert MAPPINGS.names(server.files) == set()
    assert server.client.get("/api/v1/mappings", headers=server.headers["eve"]).status_code == 403
    assert server.client.get("/api/v1/mappings").status_code == 401
