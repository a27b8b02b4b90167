"""Files in the formats of the QANTA challenge, written for this project."""

import json


def token(position, content=None, kind="text"):
    return {"content": content, "hash_key": None, "mm_index": None, "position": position, "type": kind}


def tossup(qid, text, answer="x", **more):
    """Return a tossup. Its words in capitals are images and pauses."""
    tokens = [
        token(position, None, word.lower()) if word in ("IMAGE", "DELAY") else token(position, word)
        for position, word in enumerate(text.split())
    ]
    question = " ".join(f'<multimodal type="{t["type"]}">' if t["content"] is None else t["content"] for t in tokens)
    return {"qid": qid, "question": question, "answer": answer, "clean_answers": [answer], "answerline": f"<b>{answer}</b>",
            "tokens": tokens} | more  # fmt: skip


# Ten tokens and six.
PACKETS = {
    1: [tossup("advvqa-t-AbC", "This city IMAGE DELAY is tall. Name it now please.", "_Rome_")],
    2: [tossup("advvqa-t-XyZ", "Who is this old IMAGE man?", "Bob", metadata={"category": "History"})],
}
ASKED = {"AbC": (3, 6, 10), "XyZ": (5, 6)}


def output(position, guess="Rome", confidence=0.5, correct=1, **more):
    return {"guess": guess, "confidence": confidence, "buzz": confidence > 0.6, "run_idx": 1, "correct": correct,
            "token_position": position} | more  # fmt: skip


def run_lines(packet, asked=ASKED, **more):
    """Return the lines of a run file on a packet."""
    names = {1: "AbC", 2: "XyZ"}
    outputs = [output(position, confidence=min(position / 10, 1.0), **more) for position in asked[names[packet]]]
    return json.dumps({"qid": f"advvqa-packet{packet}-t-{names[packet]}", "run_outputs": outputs}) + "\n"


NAME = "tossup__20260101_120000__ann__big-model.jsonl"
PLAYS = (
    "packet,nano,reveal_fraction,correct,censored\n1,AbC,0.4,1,0\n1,AbC,0.6,0,0\n1,AbC,1.0,0,1\n2,XyZ,0.5,0,1\n2,XyZ,0.0,1,0\n"
)


def write_challenge(folder, packets=PACKETS, runs=None, plays=PLAYS):
    """Write packets, run files by path and plays, and return the folder."""
    for number, packet in packets.items():
        place = folder / f"packet{number}_final" / ("tossup.json" if number == 1 else "tossup/data.json")
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(packet, indent=2), encoding="utf-8")
    default = {f"out/Packet {number} - Ann/Tossup/{NAME}": run_lines(number) for number in packets}
    for name, text in (default if runs is None else runs).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if plays:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "plays.csv").write_text(plays, encoding="utf-8")
    return folder
