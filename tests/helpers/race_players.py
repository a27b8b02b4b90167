"""Many simultaneous players of a race, who play as their browsers would, in a separate process.

``python -m tests.helpers.race_players LINK`` plays and prints, as JSON, how long requests took and what was acknowledged.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from clueline.data.play_sessions.sessions import digest
from tests.helpers.paths import ROOT

POLL = 0.5  # seconds between requests for words, as in assets/play_race.js
PATIENCE = 180.0  # seconds within which a request must be answered, over all attempts
GUESSES = ("Shakespeare", "Lake Victoria", "France", "")


@dataclass
class Crowd:
    """What players do, and the results.

    Attributes:
        link: link of the session.
        seconds: time after which no player begins another question.
        think: least and most seconds from a buzz to its answer, and from a question to the next one.
        pace: words a minute.
        took: seconds of each request, by its purpose.
        acknowledged: ``player, step, what was sent`` of each entry that the server accepted.
        again: number of requests that were sent again because a connection broke.
        refused: what the server did not accept, by status and code.
    """

    link: str
    seconds: float
    think: tuple[float, float]
    pace: int
    took: dict = field(default_factory=dict)
    acknowledged: list = field(default_factory=list)
    again: int = 0
    refused: dict = field(default_factory=dict)


class Player:
    """One player, with a persistent connection."""

    def __init__(self, crowd, number):
        self.crowd = crowd
        self.chance = random.Random(number)
        self.secret = f"{number + 1:032x}"
        self.address = urlsplit(crowd.link)
        self.streams = None

    async def ask(self, what, path, **body):
        """Return the response to a request, which is sent again if the connection breaks; None if it was refused."""
        content = json.dumps({"session": self.address.fragment, "player": self.secret, **body}).encode()
        head = f"POST /api/v1/play{path} HTTP/1.1\r\nHost: {self.address.netloc}\r\nContent-Type: application/json\r\n"
        message = f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content
        began = time.monotonic()
        while True:
            try:
                status, answer = await asyncio.wait_for(self.exchange(message), PATIENCE)
            except (TimeoutError, OSError, asyncio.IncompleteReadError, ValueError):
                self.streams = None
                status, answer = 0, None
                if time.monotonic() > began + PATIENCE:
                    raise
            if status not in (0, 429, 502, 503):
                break
            self.crowd.again += 1
            if status:
                self.refuse(status, answer)
            await asyncio.sleep(0.2)
        self.crowd.took.setdefault(what, []).append(time.monotonic() - began)
        if status == 200:
            return answer
        self.refuse(status, answer)
        return None

    def refuse(self, status, answer):
        key = f"{status} {answer['error']['code']}"
        self.crowd.refused[key] = self.crowd.refused.get(key, 0) + 1

    async def exchange(self, message):
        if self.streams is None:
            self.streams = await asyncio.open_connection(self.address.hostname, self.address.port)
        reader, writer = self.streams
        writer.write(message)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status, lines = int(head.split(" ", 2)[1]), head.lower().split("\r\n")
        length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
        body = await reader.readexactly(length)
        if "connection: close" in lines:
            writer.close()
            self.streams = None
        return status, json.loads(body)

    async def say(self, what, step, **body):
        """Log an entry and return the state that follows; None if it was refused."""
        state = await self.ask(what, "/answers", step=step, **body)
        if state is not None:
            self.crowd.acknowledged.append((self.secret, step, body))
        return state

    async def pause(self):
        await asyncio.sleep(self.chance.uniform(*self.crowd.think))

    async def play(self):
        """Play until the time or the questions are over."""
        ends = time.monotonic() + self.crowd.seconds
        await self.pause()
        state = await self.ask("join", "", agreed=True)
        while state and not state["done"] and time.monotonic() < ends:
            state = await self.question(state) or await self.ask("state", "")
            if state and state["last"]:
                await self.ask("models", "/models")
            await self.pause()

    async def question(self, state):
        """Play a question to its end from the current state. The server may have moved on while it could not be reached."""
        if state["reading"]["phase"] == "ready":
            state = await self.say("start", state["step"], pace=self.crowd.pace)
        if state and not state["done"] and state["reading"]["phase"] == "reading":
            state = await self.listen(state)
        while state and state["step"] % 4 >= 2:
            await self.pause()
            guess, confidence = self.chance.choice(GUESSES), self.chance.randint(0, 100)
            state = await self.say("answer", state["step"], guess=guess, confidence=confidence)
        return state

    async def listen(self, state):
        """Hear a question until a buzz or to its end."""
        step, shown, left = state["step"], len(state["reading"]["words"]), None
        wanted = self.chance.choice((10, 25, 50, 10_000))
        while shown < wanted and left is None:
            await asyncio.sleep(POLL)
            answer = await self.ask("words", "/words", step=step, have=shown)
            if answer is None or answer["over"]:
                return None
            shown, left = shown + len(answer["words"]), answer["left_ms"]
        return await self.say("buzz", step, word=None if shown < wanted else shown)


async def play(crowd, players):
    """Let players play at the same time."""
    await asyncio.gather(*(Player(crowd, number).play() for number in range(players)))


def start_players(link, players, seconds, think=(2.0, 6.0), pace=180):
    """Start the process in which they play. Its output is JSON with the attributes of ``Crowd``."""
    command = [sys.executable, "-m", "tests.helpers.race_players", link, players, seconds, *think, pace]
    return subprocess.Popen([str(part) for part in command], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def lost_entries(log, link, acknowledged):
    """Return entries that were acknowledged but are not in the log as they were sent, except those marked as too late."""
    session, lost = digest(urlsplit(link).fragment), []
    players = {player for player, _, _ in acknowledged}
    logged = {player: log.player(session, digest(player)).answers for player in players}
    for player, step, body in acknowledged:
        entry = json.loads(logged[player].get(step, "null"))
        sent = {key: value / 100 if key == "confidence" else value for key, value in body.items()}
        if entry is None or not (entry.keys() & {"left", "timed_out"} or all(entry.get(key) == sent[key] for key in sent)):
            lost.append((player, step, body, entry))
    return lost


def outcome(process):
    """Wait until the players have played, and return the results."""
    output, _ = process.communicate()
    assert process.returncode == 0, output
    return json.loads(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("link")
    parser.add_argument("players", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("least", type=float)
    parser.add_argument("most", type=float)
    parser.add_argument("pace", type=int)
    chosen = parser.parse_args()
    crowd = Crowd(chosen.link, chosen.seconds, (chosen.least, chosen.most), chosen.pace)
    asyncio.run(play(crowd, chosen.players))
    print(json.dumps(vars(crowd)))
