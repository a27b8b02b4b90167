"""Elicitations: how confidences were obtained, in a small vocabulary. Names that writers give to the same one mean the same.

Every other name is an elicitation of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

VERBALIZED, TOKEN, LIKELIHOOD, P_TRUE, AGREEMENT = "verbalized", "token", "likelihood", "p_true", "agreement"
# Names without punctuation and capitals, by elicitation.
NAMES = {
    VERBALIZED: """verbalized; verbalised; verbal; verbal confidence;
        confidence; conf; verbalized confidence; verbalised confidence;
        stated confidence; confidence stated; self reported confidence; reported confidence; self confidence; model confidence;
        confidence score; conf score; confidence level; confidence percent; confidence pct; confidence value;
        confidence in answer; answer confidence; response confidence; konfidenz; confianza; confiance""",
    TOKEN: """token; tokens; token prob; token probs; token probability; token probabilities; mean token prob;
        mean token probability; sequence prob; sequence probability; seq prob; seq probability""",
    LIKELIHOOD: "likelihood; option likelihood; likelihoods",
    P_TRUE: "p true; ptrue; prob true; probability true; p is true",
    AGREEMENT: "agreement; sample agreement; self consistency; consistency",
}
BY_NAME = {name.strip(): key for key, names in NAMES.items() for name in " ".join(names.split()).split(";")}
# A name, and what follows it: a scorer or filter in brackets, or how the confidence was changed.
PARTS = re.compile(r"(?P<name>[^,]*?)(?P<further>(?: \([^()]*\))?(?:, .*)?)")
DAY = re.compile(r" \(\d{4}-\d\d-\d\d(?:[T ][^()]*)?\)")  # which earlier versions put into elicitations


def canonical_elicitation(name: str) -> str:
    """Return an elicitation as the vocabulary calls it, without a day; a name that it does not know as it is.

    >>> canonical_elicitation("Stated_Confidence"), canonical_elicitation("P(True)"), canonical_elicitation("temperature 0.7")
    ('verbalized', 'p_true', 'temperature 0.7')
    >>> canonical_elicitation("conf (2026-05-01)"), canonical_elicitation("token prob (match)")
    ('verbalized', 'token (match)')
    >>> canonical_elicitation("conf, isotonic map")
    'verbalized, isotonic map'
    """
    undated = DAY.sub("", name) or name
    parts = PARTS.fullmatch(undated)
    if parts is None:
        return undated
    for stated, further in ((undated, ""), (parts["name"], parts["further"])):
        if known := BY_NAME.get(" ".join(re.findall(r"[^\W_]+", stated.lower()))):
            return known + further
    return undated


def canonical_elicitations(names: Iterable[str]) -> dict[str, str]:
    """Return the elicitation of each of the names that one writer uses of a model; names of the same one are kept, as two are.

    >>> canonical_elicitations(["conf", "p_true", "ptrue", "no confidence"])
    {'conf': 'verbalized', 'p_true': 'p_true', 'ptrue': 'ptrue', 'no confidence': 'no confidence'}
    """
    known = {name: canonical_elicitation(name) for name in names}
    plain = Counter(known[name] for name in {DAY.sub("", name): name for name in known}.values())
    return {name: way if plain[way] == 1 else name for name, way in known.items()}
