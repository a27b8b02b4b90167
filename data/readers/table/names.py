"""Which roles the name of a column suggests, in English, German and some French and Spanish."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

EITHER = "either"  # an answer, of which the name does not say whose it is
SCORE = "score"  # a measure of uncertainty that is no probability, of which the name does not say the direction
# Names by role, without the punctuation and case of a column's name.
PHRASES = """\
question_id: question id, questionid, qid, id, item, item id, prompt id, uid, uuid, idx, doc id, example id, problem
    id, task id, sample id, instance id, question number, question nr, question index, frage id, frage nr, nr, number,
    q id, case id
question: question, question text, question title, prompt, prompt text, query, problem, input, inputs, question prompt, frage,
    aufgabe, fragetext, item text, input text, statement, claim, q
choices: choices, options, answer options, answer choices, antwortoptionen, alternatives
answer: gold, gold answer, gold label, golden answer, truth, ground truth, target, target answer, reference, reference
    answer, ref, expected, expected answer, ideal, ideal answer, solution, key, answer key, correct answer, correct letter,
    correct label, correct option, correct choice, right answer, right letter, true answer, true label, true letter, y true,
    true class, true value, actual, actual answer, actual value, real answer, gt, gt answer, ground truth answer, ground
    truth label, target text, reference text, gold text, answer idx, answer index, gold idx, gold index, target idx, target
    index, correct idx, correct index, label idx, cop, aliases, answer aliases, accepted answer, acceptable answer, answers
    text, musterlösung, lösung, sollantwort, richtige antwort, korrekte antwort
guess: guess, prediction, predicted, pred, predicted answer, predicted letter, predicted label, predicted option, y
    pred, response, model response, llm response, extracted, extracted answer, parsed answer, reply, completion,
    output, outputs, output answer, model answer, model output, model choice, model letter, model prediction, llm answer,
    chosen, chosen answer, chosen option, chosen letter, selected, selected answer, selected option, said, given answer,
    final answer, generated, generation, generated answer, generated text, greedy text, output text, predicted text,
    predicted value, picked, modellantwort, vorhersage
either: answer, antwort, letter, label, réponse, respuesta, option, choice
correct: correct, is correct, iscorrect, correctness, right, is right, hit, accurate, richtig, korrekt, answer
    correct, answered correctly, was correct, judged correct, solved, exact match, correcto, score, judge score,
    judgement, judgment, grade, graded, verdict, em, match, acc, accuracy, ok, okay, success, passed, reward, label correct,
    judge, answer is correct, prediction correct, prediction is correct, response correct, guess correct, model
    correct
wrong: wrong, is wrong, was wrong, incorrect, is incorrect, incorrectness, hallucination, hallucinated, is hallucination,
    is hallucinated, mistake, is mistake, falsch
confidence: confidence, conf, confident, certainty, certain, sure, how sure, how certain, how confident,
    probability, prob, proba, p true, ptrue,
    p max, pmax, p correct, p answer, p, credence, likelihood, belief, konfidenz, sicherheit, gewissheit,
    wahrscheinlichkeit, zuversicht, confianza, confiance, probability yes, p yes, yes probability, probability of yes,
    forecast, forecast probability, probability correct, confidence score, certainty score, self confidence,
    confidence percent, confidence pct, conf score, prob score, probability score, confidence level, max prob, answer probability,
    answer confidence, predicted probability, predicted confidence, model confidence, response confidence, confidence in answer,
    confidence value, risk, predicted risk, y score, y prob, y proba, pred prob, pred proba
score: p value, energy, cosine, cosine similarity, similarity
certainty: logit, logits, logprob, log prob, logprobs, log probability, log likelihood, margin, negentropy, neg entropy,
    negative entropy, inverse perplexity, neg perplexity, negative perplexity
uncertainty: entropy, semantic entropy, entropie, perplexity, ppl, uncertainty, uncertainty score, unsicherheit, nll, neg log
    likelihood, negative log likelihood, neg logprob, neg log prob, negative logprob, negative log prob, surprisal, variance,
    loss, dispersion
model: model, model name, model id, modell, llm, llm name, engine, system, agent, forecaster, model version, modelo,
    modèle, lm, evaluated model, predictor, solver, provider, provider id
elicitation: elicitation, elicitation method, confidence method, confidence type, method, scorer, prompt type,
    prompting, prompt style, prompt template, strategy, verfahren, methode
dataset: dataset, data set, dataset name, benchmark, benchmark name, corpus, qset, question set, datensatz, test set
category: category, subject, topic, domain, discipline, area, field, kategorie, fach, thema, subject area, question
    category, question type, task
date: date, day, run date, run day, datum, tag, eval date, evaluation date, datetime, timestamp, evaluated at, evaluated on,
    created, created at, started at, completed at, finished at
sample: trial, trial index, trial id, sample, sample index, epoch, repeat, repetition, replicate, iteration, attempt,
    seed, rollout, run index, run id, run, versuch, durchlauf, generation index, sample number, trial number
threshold: threshold, tau, confidence threshold, abstention threshold, told threshold, schwelle, target confidence, t
clue: clue, clue index, hint index
outcome: resolution, resolved, resolved to, outcome, occurred, happened, came true, ausgang, resolution value
parsed: parse ok, parsed, parsed ok, parse success, correct format, format ok, format correct, is parsed, valid
    format, is valid, valid, parseable, well formed
failed: failed, failure, call failed, request failed, is failed, api error, is error, errored, error, error message, error type,
    exception, timed out, timeout
unparsed: parse failed, parse failure, parse error, parsing error, parsing failed, failed to parse, extraction failed, malformed
answered: answered, attempted, is answered, is attempted, did answer, did attempt, was answered
abstained: abstained, abstain, is abstention, abstention, declined, refused, refusal, is refusal, idk, is idk, dont know,
    don t know, i dont know, i don t know, do not know, skipped, is skipped, no answer, non answer, no response
"""
# The roles of flags, and what each becomes by a negation. ``succeeded``, ``answered`` and ``unparsed`` only turn others round.
OPPOSITES = {"correct": "wrong", "parsed": "unparsed", "failed": "succeeded", "abstained": "answered"}
OPPOSITES |= {opposite: role for role, opposite in OPPOSITES.items()}
NEGATIONS = {"not", "no", "non", "never", "isn", "didn", "wasn", "isnt", "didnt", "wasnt", "nicht", "kein", "keine"}
NEGATING_PREFIXES = ("un", "in", "non", "not", "no", "mis")
# Phrases of correctness of which a negation says that there was no grading, and not that the answer is wrong.
OF_GRADING = {"score", "judge score", "judgement", "judgment", "grade", "graded", "verdict", "judge", "acc", "accuracy", "reward"}
BESIDE_NEGATION = {"t", "a", "an", "any", "yet", "been", "be", "was", "is", "did"}  # words between a negation and what it negates
# Further words of flags that only a negation makes one of.
NEGATED = {
    "attempt": "answered", "answer": "answered", "respond": "answered", "responded": "answered", "parse": "parsed",
    "valid": "parsed", "format": "parsed", "abstain": "abstained", "matched": "correct", "matching": "correct",
}  # fmt: skip
ROLES_BY_PHRASE: dict[str, list[str]] = {}
for _entry in re.split(r"\n(?! )", PHRASES.strip()):
    _role, _, _phrases = _entry.partition(": ")
    for _phrase in _phrases.split(","):
        ROLES_BY_PHRASE.setdefault(" ".join(_phrase.split()), []).append(_role)
MODEL_NAME = re.compile(
    r"\b(?:(?:gpt|chatgpt|davinci|claude|llama|gemini|gemma|mistral|mixtral|qwen|deepseek|grok|olmo|vicuna|kimi|glm|jamba|dbrx|"
    r"zephyr|nemotron|internlm)[-_ .\d]|(?:phi|palm)[-_ .]?\d)",  # the last two are also words
    re.IGNORECASE,
)
MAX_WORDS = max(len(phrase.split()) for phrase in ROLES_BY_PHRASE)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Words that make a number between 0 and 1 something else than how sure the model is that its answer is right.
NO_CONFIDENCE = _set("""
    threshold tau interval low high lower upper std sd stdev var variance ci raw reason reasoning explanation human
    annotator user people person crowd difficulty temperature top parse format wrong error false incorrect no not bin
    bucket decile rank tok prompt text time second count length target told expected gap diff delta change baseline
    prior unanswerable fehler schwelle toxicity rouge bleu similarity relevance faithfulness readability latency rt cost
    reward rewards
""")
# Words with which "correct" is not about this answer.
OTHERS_CORRECT = _set("""
    human annotator user people baseline other previous prior first majority format confidence prob p probability
""")
# Words with which an id is not that of a question.
NO_QUESTION = _set("""
    run model batch trial user session request response worker annotator seed system output sheet category subject
    subj participant respondent observer rater
""")
# Words of people who answered.
OF_PERSONS = _set("subj participant respondent observer worker user")
# Words of correctness, others that are also those of other scores, and words that may stand beside either.
STRONG_CORRECT = _set("correct correctness iscorrect right hit accurate accuracy richtig korrekt correcto solved")
WEAK_CORRECT = _set("score judge grade graded verdict em match acc ok okay success passed judgement judgment reward")
BESIDE_CORRECT = _set("""
    is was the it answer answered model llm prediction pred guess response label final exact auto extracted judged evaluated eval
    value binary bool flag question overall output v rubric y n extractive prefix quasi task env total
""")
# Words of a name that counts, measures or locates something: no such column holds an answer, a question or a grade.
OF_COUNTS_AND_FILES = _set("""
    tokens token num count counts length len size ms sec secs seconds latency duration cost price usage bytes chars
    characters time timestamp shots file files filename filepath path url uri
""")
# Names of objects and lists that hold grades, and of those that hold grades among other measures. They stand above them in
# paths such as ``scores.ExactMatch``.
LISTS_OF_GRADES = _set("""
    scores grades annotation annotations feedback feedbacks assessment assessments rating ratings judgements judgments
    evaluations evals
""")
ABOVE_GRADES = LISTS_OF_GRADES | _set("metric metrics score grade reward rewards")
# Words of errors: a column of yes and no with one of them says which answers are wrong.
OF_ERRORS = _set("error errors err wrong incorrect mistake mistakes hallucination hallucinated fail failed fehler falsch miss")
# Words that make a probability that of one option, and not of the answer that was given.
OF_OPTIONS = _set("yes no ja nein a b c d e f false positive negative pos neg")
# Words of names that say nothing, as those of letters do.
NOTHING = _set("col column var variable field feature unnamed attr attribute value data num val")
# Words in names of columns of tables whose rows are figures of many answers.
OF_FIGURES = _set("count counts support bin bucket ece brier auroc auc nll")
UNSURE_OUTCOME = {"outcome", "resolved"}


def tokens(name: str) -> tuple[str, ...]:
    """Return the words of a column name. Of a dotted path, the words of its last part.

    >>> tokens("isCorrect"), tokens("output.P_true"), tokens("How sure?"), tokens("conf1")
    (('is', 'correct'), ('p', 'true'), ('how', 'sure'), ('conf',))
    """
    return words(name.rpartition(".")[2]) or words(name)


def words(name: str) -> tuple[str, ...]:
    """Return the words of a name, in small letters and without numbers."""
    spaced = re.sub(r"(?<=[a-zäöü0-9])(?=[A-Z])", " ", name)
    return tuple(word.lower() for word in re.findall(r"[^\W\d_]+", spaced))


def has_word(name: str, some: Set[str]) -> bool:
    """Return whether the last part of a name has one of some words."""
    return bool({*tokens(name)} & some)


def says_nothing(name: str) -> bool:
    """Return whether a name tells nothing of its column.

    >>> says_nothing("col_3"), says_nothing("x1"), says_nothing("cosine")
    (True, True, False)
    """
    return all(len(word) < 3 or word in NOTHING for word in tokens(name)) and not roles_of(name)


def roles_of_phrase(named: Sequence[str]) -> list[str]:
    """Return the roles that some words mean, also in the plural.

    >>> roles_of_phrase(["predictions"]), roles_of_phrase(["answer", "key"]), roles_of_phrase(["cosine"])
    (['guess'], ['answer'], ['score'])
    """
    phrase = " ".join(named)
    return ROLES_BY_PHRASE.get(phrase) or ROLES_BY_PHRASE.get(phrase.removesuffix("s"), [])


def roles_of(name: str) -> dict[str, float]:
    """Return the roles that a name suggests, with how strongly: by the number of words, and more if they come last.

    >>> roles_of("correct_answer")
    {'answer': 2.5, 'either': 1.5, 'correct': 1}
    >>> roles_of("output.answer"), roles_of("x1")
    ({'guess': 2.5, 'either': 1.5}, {})
    >>> roles_of("is_not_attempted"), roles_of("unparsed"), roles_of("not_failed"), roles_of("not_incorrect")
    ({'abstained': 2.5}, {'unparsed': 2.5}, {'succeeded': 2.5}, {'correct': 3.5})
    """
    roles: dict[str, float] = {}
    last = _with_negations(tokens(name))
    if negated := _negated_role(last):
        return {negated[0]: negated[1]}
    # The whole path says whose answer it is; otherwise its last part is what counts.
    for parts, only in ((last, None), (words(name), ("guess", "answer", "model"))):
        for start in range(len(parts)):
            for end in range(start + 1, min(len(parts), start + MAX_WORDS) + 1):
                for role in roles_of_phrase(parts[start:end]):
                    if only is None or (role in only and end == len(parts)):
                        roles[role] = max(roles.get(role, 0), end - start + (0.5 if end == len(parts) else 0))
    return dict(sorted(roles.items(), key=lambda item: (-item[1], item[0])) if len(roles) > 1 else roles)


def _with_negations(named: Sequence[str]) -> tuple[str, ...]:
    """Return words in which a prefix that negates a flag stands by itself, as ``not``.

    >>> _with_negations(("is", "unanswered")), _with_negations(("incorrect", "format")), _with_negations(("index",))
    (('is', 'not', 'answered'), ('not', 'correct', 'format'), ('index',))
    """
    result: list[str] = []
    for word in named:
        rests = (word.removeprefix(prefix) for prefix in NEGATING_PREFIXES if word.startswith(prefix))
        negated = next((rest for rest in rests if _flag_of(rest, negated=True)), None)
        result += [word] if negated is None else ["not", negated]
    return tuple(result)


def _flag_of(phrase: str, *, negated: bool) -> str | None:
    """Return the role of a flag that a phrase names; ``negated`` says that a negation stands before it."""
    if negated and phrase in NEGATED:
        return NEGATED[phrase]
    if negated and phrase in OF_GRADING:
        return None
    return next((role for role in ROLES_BY_PHRASE.get(phrase, ()) if role in OPPOSITES), None)


def _negated_role(named: Sequence[str]) -> tuple[str, float] | None:
    """Return the role that a negation in a name makes of the flag after it, and how strongly; None without a negated flag."""
    for at, word in enumerate(named):
        if word not in NEGATIONS:
            continue
        start, count = at, 0
        while start < len(named) and named[start] in NEGATIONS | BESIDE_NEGATION:
            count += named[start] in NEGATIONS
            start += 1
        for end in range(len(named), start, -1):
            if flag := _flag_of(" ".join(named[start:end]), negated=True):
                role = OPPOSITES[flag] if count % 2 else flag  # what is not incorrect is correct
                return role, end - at + (0.5 if end == len(named) else 0)
    return None
