"""One sample of an Inspect AI log: its question, its scores and their confidences."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from data.readers.shared.evaluation_log import category_of, letters, number, with_choices

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
WORDS = {"correct": 1.0, "yes": 1.0, "true": 1.0, "incorrect": 0.0, "no": 0.0, "false": 0.0}
NO_ANSWER = "N"
CONTENT_FILTER = "content_filter"  # the reason why an output ended
ENDED_BY_ERROR = "the sample ended with an error"
ROUNDING = 1e-3  # by which a log-probability may exceed 0
MAX_GUESS_LENGTH = 2000  # characters of an output that are used as the answer


@dataclass(frozen=True)
class TokenConfidence:
    """The confidence from log-probabilities: probabilities of all options, or the log-probabilities of the answer's tokens."""

    options: dict[str, float] | None = None
    logprobs: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Score:
    """The score that one scorer gave a sample, after all edits, and the answer that the scorer took from the output.

    The confidence is as in the log; None if it is not stated. ``tokens`` is None if the log has no log-probabilities for the
    answer.
    """

    value: object
    answer: str | None
    confidence: object
    tokens: TokenConfidence | None

    @property
    def declined(self) -> bool:
        return isinstance(self.value, str) and self.value.strip() == NO_ANSWER

    @property
    def unscored(self) -> bool:
        return self.value is None or (not isinstance(self.value, str | bool) and math.isnan(number(self.value) or 0))

    @property
    def correct(self) -> float | None:
        """The value as a correctness in [0, 1]; None if it cannot be read as one."""
        value = self.value
        if isinstance(value, bool):
            return float(value)
        if isinstance(value, str):
            known = LETTERS.get(value.strip()) if value.strip() in LETTERS else WORDS.get(value.strip().lower())
            if known is not None:
                return known
        share = number(value)
        return share if share is not None and 0 <= share <= 1 else None


@dataclass(frozen=True)
class Sample:
    """One sample of a log.

    ``options`` are the letters of the question's choices; empty if it has none. ``failed`` says why there is no answer; None if
    there is one. ``refused`` says whether a content filter stopped the output. Scores are by scorer.
    """

    question_id: str
    text: str
    answer: str | None
    category: str | None
    options: list[str]
    epoch: str
    failed: str | None
    refused: bool
    scores: dict[str, Score]

    @property
    def place(self) -> str:
        return f"sample {self.question_id}" + ("" if self.epoch == "1" else f", epoch {self.epoch}")


def read_sample(document: Mapping[str, Any]) -> Sample:
    """Read a sample from its JSON document, which must have an id."""
    raw = document.get("attachments")
    attachments = raw if isinstance(raw, dict) else {}
    choices = [_resolved(choice, attachments) for choice in _list(document.get("choices"))]
    options = letters(len(choices))
    text = _text(document.get("input"), attachments)
    target = document.get("target")
    answer = " or ".join(map(str, target)) if isinstance(target, list) else str(target or "")
    return Sample(
        question_id=str(document["id"]),
        text=with_choices(text, dict(zip(options, choices, strict=True))) if choices else text,
        answer=_resolved(answer, attachments) or None,
        category=category_of(metadata) if isinstance(metadata := document.get("metadata"), dict) else None,
        options=options,
        epoch=str(document.get("epoch") or 1),
        failed=ENDED_BY_ERROR if document.get("error") else None,
        refused=_stop_reason(document.get("output")) == CONTENT_FILTER,
        scores=_scores(document, options, attachments),
    )


def _scores(document: Mapping[str, Any], options: list[str], attachments: Mapping[str, Any]) -> dict[str, Score]:
    """Return the scores of a sample by name. If a value has several parts, each part is a score."""
    raw = document.get("scores") or document.get("score") or {}
    if isinstance(raw, dict) and "value" in raw and not (isinstance(raw["value"], dict) and "value" in raw["value"]):
        raw = {"score": raw}  # logs of early versions have one score
    named = {str(name): _edited(score) for name, score in raw.items() if isinstance(score, dict)} if isinstance(raw, dict) else {}
    confidences = {name: _confidence(score) for name, score in named.items()}
    any_confidence = next((value for value in confidences.values() if value is not None), None)
    completion = _completion(document.get("output"), attachments)
    content = _logprobs(document.get("output"))
    result: dict[str, Score] = {}
    for name, score in named.items():
        stated = score.get("answer")
        answer = _resolved(stated, attachments) if isinstance(stated, str) and stated else None
        guess = answer if answer is not None or options else completion[:MAX_GUESS_LENGTH] or None
        confidence = confidences[name] if confidences[name] is not None else any_confidence
        tokens = _token_confidence(content, options, answer)
        for part, value in _values(score.get("value")).items():
            full_name = f"{name}.{part}" if part else name
            score_of_part = Score(value, guess, confidence, tokens)
            result[full_name] = replace(score_of_part, answer=None) if score_of_part.declined else score_of_part
    return result


def _edited(score: Mapping[str, Any]) -> dict[str, Any]:
    """Return a score with the edits of its history applied in order; the last one counts."""
    result = dict(score)
    for edit in _list(score.get("history")):
        if isinstance(edit, dict):
            result |= {
                key: edit[key] for key in ("value", "answer", "metadata") if key in edit and edit[key] not in ("UNCHANGED", None)
            }
    return result


def _confidence(score: Mapping[str, Any]) -> object:
    """Return the confidence in a score's metadata or among the parts of its value; None if there is none."""
    for parts in (score.get("metadata"), score.get("value")):
        for key, value in parts.items() if isinstance(parts, dict) else ():
            unreadable = value is None or value == "" or (isinstance(value, float) and math.isnan(value))
            if str(key).strip().lower() == "confidence" and not unreadable:
                return value
    return None


def _values(value: object) -> dict[str, object]:
    """Return the parts of a value that are scores, by name. The name of a single part is empty."""
    if not isinstance(value, dict):
        return {"": value}
    parts = {str(key): part for key, part in value.items() if str(key).strip().lower() != "confidence"}
    return {"": next(iter(parts.values()))} if len(parts) == 1 else parts


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _resolved(text: object, attachments: Mapping[str, Any]) -> str:
    """Return a text. The log may store it separately among its attachments."""
    name = str(text).removeprefix("attachment://")
    return str(attachments[name]) if str(text).startswith("attachment://") and name in attachments else str(text)


def _text(content: object, attachments: Mapping[str, Any]) -> str:
    """Return the text of an input: the text itself, or that of its messages, each after its role if there are several."""
    if not isinstance(content, list):
        return _resolved("" if content is None else content, attachments)
    messages = [message for message in content if isinstance(message, dict)]
    texts = [(str(message.get("role", "")), _message_text(message.get("content"), attachments)) for message in messages]
    return texts[0][1] if len(texts) == 1 else "\n".join(f"{role}: {text}" for role, text in texts)


def _message_text(content: object, attachments: Mapping[str, Any]) -> str:
    if not isinstance(content, list):
        return _resolved("" if content is None else content, attachments)
    parts = [part for part in content if isinstance(part, dict)]
    return "\n".join(
        _resolved(part["text"], attachments) if isinstance(part.get("text"), str) else f"[{part.get('type', 'part')}]"
        for part in parts
        if part.get("type") != "reasoning"
    )


def _stop_reason(output: object) -> object:
    choices = _list(output.get("choices")) if isinstance(output, dict) else []
    return choices[0].get("stop_reason") if choices and isinstance(choices[0], dict) else None


def _completion(output: object, attachments: Mapping[str, Any]) -> str:
    if not isinstance(output, dict):
        return ""
    for choice in _list(output.get("choices"))[:1]:
        if isinstance(choice, dict) and isinstance(choice.get("message"), dict):
            return _message_text(choice["message"].get("content"), attachments)
    return _resolved(output.get("completion") or "", attachments)


def _logprobs(output: object) -> list[dict[str, Any]]:
    for choice in _list(output.get("choices") if isinstance(output, dict) else None)[:1]:
        logprobs = choice.get("logprobs") if isinstance(choice, dict) else None
        content = logprobs.get("content") if isinstance(logprobs, dict) else None
        return [token for token in _list(content) if isinstance(token, dict) and _logprob(token) is not None]
    return []


def _logprob(token: Mapping[str, Any]) -> float | None:
    value = number(token.get("logprob"))
    return None if value is None or math.isnan(value) or value > ROUNDING else min(value, 0.0)


def _letter(token: Mapping[str, Any]) -> str:
    """Return the letters and digits of a token: B for ``" B"``, ``"(B"`` and ``"B."``."""
    return re.sub(r"[\W_]", "", str(token.get("token", "")))


def _token_confidence(content: list[dict[str, Any]], options: list[str], answer: str | None) -> TokenConfidence | None:
    """Return the confidence from log-probabilities; None if there are none for the answer.

    With options, it is the probabilities of all options at the answer's letter if the log has them all, otherwise the
    log-probability of that letter. Without options, it is the log-probabilities of all tokens.
    """
    if not content:
        return None
    logprobs = [value for token in content if (value := _logprob(token)) is not None and math.isfinite(value)]
    if not options:
        return TokenConfidence(logprobs=tuple(logprobs)) if logprobs else None
    letter = _letter({"token": answer or ""})
    token = next((token for token in reversed(content) if letter and _letter(token) == letter), None)
    own = _logprob(token) if token else None
    if token is None or own is None:
        return None
    others = [other for other in _list(token.get("top_logprobs")) if isinstance(other, dict)]
    if str(token.get("token")) not in {str(other.get("token")) for other in others}:
        others.append(token)
    weights = dict.fromkeys(options, 0.0)
    for other in others:
        value = _logprob(other)
        if value is not None and _letter(other) in weights:
            weights[_letter(other)] += math.exp(value)
    total = sum(weights.values())
    if letter in weights and all(weights.values()):
        return TokenConfidence(options={name: weight / total for name, weight in weights.items()})
    return TokenConfidence(logprobs=(own,)) if math.isfinite(own) else None
