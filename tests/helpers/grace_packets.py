"""Packets in the format of the GRACE release, written for this project."""

import json

PACKETS = {
    3: [
        {
            "tossup_index": "128", "category": "Other Lit", "answer": "Ann", "question_buzzpoints": "", "question":
            "He came from St. Louis.  D. H. Lawrence (“LAW-rence”) knew him.",
            "position": [{"4": "[H17, -]"}, {"5": "[M1, +]"}, {"7": "[H1, -]"}, {"10": "[H1, +]"}],
        },
        {"tossup_index": "exh-1", "category": "Geo/CE", "answer": "Bob", "question": "Which bay is this?", "position": []},
    ],
    10: [
        {
            "tossup_index": 128, "category": "Euro Hist", "answer": "Cid", "question": "Who won <b>at</b> the sea?",
            "position": [{"1": "[H1, +]"}, {"9": "[M2, -]"}],
        },
        {"tossup_index": 2, "category": "Social Science", "answer": "Dora", "question": "Who spoke?", "position": []},
    ],
}  # fmt: skip


def write_packets(folder, packets=PACKETS):
    """Write packets by number, and return the folder."""
    folder.mkdir(parents=True)
    for number, packet in packets.items():
        (folder / f"packet{number}_buzzpoints.json").write_text(json.dumps(packet), encoding="utf-8")
    return folder
