"""Games in QBJ and packets in MODAQ's JSON, written for this project."""

import json

PACKET = {
    "tossups": [
        {"question": "This <em>old&nbsp;city</em> (“SIT-ee”) is tall. (*) Name it now.", "answer": "<b><u>Paris</u></b>"},
        {"question": "Which river is long?", "answer": "Nile", "metadata": "<Ann, Geography - Rivers>"},
        {"question": "Which sea is dead?", "answer": "<b>Dead</b> Sea", "category": "Geography", "subcategory": "Seas"},
    ],
    "bonuses": [{"leadin": "For ten points each", "parts": []}],
}


def buzz(team, word, value, player="Pat Doe"):
    return {"buzz_position": {"word_index": word}, "player": {"name": player}, "team": {"name": team}, "result": {"value": value}}


def question(number, *buzzes, tossup=None, replacement=None):
    content = {
        "question_number": number, "buzzes": [*buzzes],
        "tossup_question": {"question_number": tossup or number, "type": "tossup", "parts": 1},
    }  # fmt: skip
    return content | (
        {"replacement_tossup_question": {"question_number": replacement, "type": "tossup", "parts": 1}} if replacement else {}
    )


def match(*questions, teams=("Oak A", "Elm"), packet="Packet 1", **more):
    sides = [{"team": {"name": name, "players": [{"name": "Pat Doe"}]}, "match_players": [], "lineups": []} for name in teams]
    return {"tossups_read": len(questions), "match_teams": sides, "match_questions": [*questions], "packets": packet} | more


GAME = match(question(1, buzz("Oak A", 2, -5), buzz("Elm", 4, 10)), question(2, buzz("Oak A", 4, 0)))


def write_games(folder, packets=None, **games):
    """Write packets and matches by name, and return the folder."""
    folder.mkdir(parents=True)
    for name, packet in ({"Packet 1": PACKET} if packets is None else packets).items():
        (folder / f"{name}.json").write_text(json.dumps(packet, indent=1), encoding="utf-8")
    for name, game in (games or {"game": GAME}).items():
        (folder / f"{name}.qbj").write_text(json.dumps(game), encoding="utf-8")
    return folder
