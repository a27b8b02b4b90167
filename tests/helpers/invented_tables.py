"""Invented answers in the shapes in which calibration studies release them, and the figures that plain numpy computes of them.

Only the shapes (columns, missing values, scales, spellings) are those of real releases.
"""

import csv
import json
import re
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

SUBJECTS = ("algebra", "law", "virology")
LETTERS = "ABCDEFGHIJ"
WORDS = (("very uncertain", 0.1), ("somewhat uncertain", 0.4), ("somewhat certain", 0.7), ("very certain", 0.95))
# Files, each with the functions below that write it and return its figures.
NAMES = (
    "forecasts.csv",
    "freeform_judged.csv",
    "mmlu_invented-model-a_eval.csv",
    "nested.jsonl",
    "options_wide.csv",
    "semicolons_decimal_comma.csv",
    "stated_in_words.csv",
    "thresholds_votes.csv",
    "trials_percent.csv",
    "two_columns.csv",
    "uncertainties.csv",
    "workbook.xlsx",
)


def draw_tables(folder: Path, seed: int) -> dict[str, list[dict[str, float]]]:
    """Write every table, and return the figures of the runs of each."""
    random = np.random.default_rng(seed)
    confidence = random.beta(4, 2, 200)
    correct = random.random(200) < 0.85 * confidence
    return {
        "forecasts.csv": forecasts(folder, random),
        "freeform_judged.csv": freeform_judged(folder, random),
        "mmlu_invented-model-a_eval.csv": several_elicitations(folder, random),
        "nested.jsonl": nested(folder, confidence, correct),
        "options_wide.csv": options_wide(folder, random),
        "semicolons_decimal_comma.csv": semicolons(folder, confidence, correct),
        "stated_in_words.csv": stated_in_words(folder, random),
        "thresholds_votes.csv": thresholds(folder, random),
        "trials_percent.csv": trials(folder, random),
        "two_columns.csv": two_columns(folder, confidence, correct),
        "uncertainties.csv": uncertainties(folder, random),
        "workbook.xlsx": workbook(folder, confidence, correct),
    }


def question(number: int) -> str:
    """Return the text of an invented question."""
    return f"Invented question {number}: which letter stands at place {number % 7 + 1} of the invented word?"


def figures(confidence, correct) -> dict[str, float]:
    """Return the figures of one run. Its accuracy is of all answers, the others of those with a confidence."""
    confidence, correct = np.asarray(confidence, float), np.asarray(correct, float)
    stated = ~np.isnan(confidence)
    sure, right = confidence[stated], correct[stated]
    places = np.minimum((sure * 10).astype(int), 9)
    gaps = [abs(sure[places == place].sum() - right[places == place].sum()) for place in range(10)]
    return {
        "accuracy": float(correct.mean()),
        "mean_confidence": float(sure.mean()),
        "brier": float(((sure - right) ** 2).mean()),
        "ece": float(sum(gaps) / len(sure)),
        "auroc": auroc(sure, right == 1),
    }


def auroc(score, correct) -> float:
    """Return the share of pairs of a right and a wrong answer in which the right one has the higher score."""
    above, below = score[correct][:, None], score[~correct]
    return float(((above > below) + 0.5 * (above == below)).mean())


def several_elicitations(folder: Path, random) -> list[dict[str, float]]:
    """Three elicitations side by side. The model is in the name of the file; rows have numbers; some confidences are blank."""
    count = 90
    right = random.random(count) < 0.62
    key = random.integers(0, 10, count)
    answered = np.where(right, key, (key + random.integers(1, 10, count)) % 10)
    stated = np.round(np.clip(0.55 + 0.3 * right + random.normal(0, 0.15, count), 0.05, 1), 2)
    stated[random.random(count) < 0.2 + 0.3 * ~right] = np.nan
    tokens = np.clip(0.5 + 0.2 * right + random.normal(0, 0.15, count), 0.02, 0.999)
    worded = random.choice([0.1, 0.5, 0.7, 0.9, 0.95], count)
    lengths = random.integers(50, 400, count)
    rows = [
        {
            "": number,
            "Unnamed: 0": number,
            "category": SUBJECTS[number % 3],
            "correct_answer": LETTERS[key[number]],
            "extracted_answer": LETTERS[answered[number]],
            "verbal_numerical_confidence": "" if np.isnan(stated[number]) else stated[number],
            "logit_perplexity_confidence": tokens[number],
            "verbal_linguistic_confidence": worded[number],
            "token_length": lengths[number],
        }
        for number in range(count)
    ]
    write_csv(folder / "mmlu_invented-model-a_eval.csv", rows)
    return [figures(column, right) for column in (stated, tokens, worded)]


def trials(folder: Path, random) -> list[dict[str, float]]:
    """Three models with five trials each, confidences in percent, difficulty in words, failed parses."""
    rows, runs = [], []
    for model, skill in (("invented-small", 0.5), ("invented-large", 0.75), ("invented-think", 0.7)):
        confidences, grades = [], []
        for number in range(24):
            for trial in range(5):
                right = bool(random.random() < skill + (0.15, 0, -0.2)[number % 3])
                percent = int(np.clip(5 * round((60 + 25 * right + random.normal(0, 15)) / 5), 5, 100))
                parsed = bool(random.random() > 0.04)
                rows.append({
                    "question_id": f"q{number:04d}",
                    "subject": SUBJECTS[number % 3],
                    "difficulty": ("easy", "medium", "hard")[number % 3],
                    "model_name": model,
                    "trial_index": trial,
                    "predicted_letter": LETTERS[number % 4 if right else (number + 1) % 4],
                    "correct_letter": LETTERS[number % 4],
                    "is_correct": right,
                    "confidence": percent if parsed else "",
                    "parse_ok": parsed,
                    "internal_prob_answer": "",
                })  # fmt: skip
                confidences.append(percent / 100 if parsed else np.nan)
                grades.append(right)
        runs.append(figures(confidences, grades))
    write_csv(folder / "trials_percent.csv", rows)
    return runs


def thresholds(folder: Path, random) -> list[dict[str, float]]:
    """Confidences by votes, abstentions, a threshold that the model was told, choices as a list of Python."""
    rows, confidences, grades = [], [], []
    choices = str([f"word {number}, with a comma" for number in range(4)])
    for threshold in (0.25, 0.5, 0.9):
        for number in range(30):
            confidence = float(random.choice([1 / 3, 0.5, 2 / 3, 1.0]))
            right = bool(random.random() < 0.8 * confidence)
            abstains = confidence < threshold - 0.2
            answer = LETTERS[number % 4 if right else (number + 1) % 4]
            rows.append({
                "id": 100 + number,
                "threshold": threshold,
                "question": question(number),
                "choices": choices,
                "answer": LETTERS[number % 4],
                "predicted_answer": "IDK" if abstains else answer,
                "confidence": confidence,
            })  # fmt: skip
            if not abstains:
                confidences.append(confidence)
                grades.append(right)
    write_csv(folder / "thresholds_votes.csv", rows)
    return [figures(confidences, grades) | {"accuracy": sum(grades) / len(rows)}]  # an abstention is not right


def freeform_judged(folder: Path, random) -> list[dict[str, float]]:
    """Free answers with a judge's score and two probabilities; lists and dictionaries as text of Python."""
    rows, grades, sequence, scaled = [], [], [], []
    for number in range(60):
        right = bool(random.random() < 0.55)
        sequence.append(float(random.beta(2 + 3 * right, 2)))
        scaled.append(float(random.beta(3 + 2 * right, 3)))
        grades.append(right)
        word = f"word{number if right else number + 1}"
        verdict = "right" if right else "wrong"
        rows.append({
            "question": question(number),
            "target": f"word{number}",
            "response": f"It begins with a thought,\nthen a line.\n\nAnswer: {word}",
            "ans_tok": "['It', ' begins', '<pad>']",
            "tok_prob": "[0.5, 0.25, 0.0]",
            "seq_prob": sequence[-1],
            "extracted_answer": word,
            "ts_seq_confidence": scaled[-1],
            "judge_score": f"{{'feedback': 'The response is {verdict}. [RESULT] {int(right)}'}}",
            "extracted_judge_score": float(right),
        })  # fmt: skip
    write_csv(folder / "freeform_judged.csv", rows)
    return [figures(column, grades) for column in (sequence, scaled)]


def uncertainties(folder: Path, random) -> list[dict[str, float]]:
    """Uncertainties beyond [0, 1]: only their order means something until they are mapped."""
    rows, grades, entropies = [], [], []
    for number in range(80):
        right = bool(random.random() < 0.3)
        entropy = float(max(0, random.normal(0.9 - 0.3 * right, 0.3)))
        is_blank = number % 20 == 7
        rows.append({
            "prompt_id": f"prompt{number}",
            "entropy": "" if is_blank else entropy,
            "latency": 5 * random.random(),
            "correct": "yes" if right else "no",
            "llm_answer": random.integers(0, 99),
            "ground_truth": random.integers(0, 99),
            "avg_au": random.uniform(2, 6),
            "cosine": random.random(),
        })  # fmt: skip
        grades.append(right)
        entropies.append(np.nan if is_blank else entropy)
    write_csv(folder / "uncertainties.csv", rows)
    entropy, correct = np.array(entropies), np.array(grades)
    stated = ~np.isnan(entropy)
    return [{"accuracy": float(correct.mean()), "auroc": auroc(-entropy[stated], correct[stated])}]


def stated_in_words(folder: Path, random) -> list[dict[str, float]]:
    """Confidences in words beside probabilities of yes and no; keys that are true or false."""
    rows, grades, confidences = [], [], []
    for number in range(64):
        word, confidence = WORDS[random.integers(len(WORDS))]
        right = bool(random.random() < 0.8 * confidence + 0.1)
        truth = bool(random.random() < 0.6)
        answer = "Yes" if truth == right else "No"
        rows.append({
            "": number,
            "Answer": answer,
            "Raw_Answer": f" {answer}, {word}\nBecause it is invented.",
            "Stated_Confidence": f" {word} ",
            "Yes_Prob": random.random(),
            "No_Prob": random.random() / 9,
            "Correct_Answer": truth,
            "Score": int(right),
        })  # fmt: skip
        grades.append(right)
        confidences.append(confidence)
    write_csv(folder / "stated_in_words.csv", rows)
    return [figures(confidences, grades)]


def options_wide(folder: Path, random) -> list[dict[str, float]]:
    """A confidence for each option, letters as answers, model and set in columns; two rows do not parse."""
    rows, grades, confidences = [], [], []
    for number in range(50):
        key, right = number % 4, bool(random.random() < 0.7)
        chosen = key if right else (key + 1) % 4
        shares = 0.5 * random.dirichlet([1.2] * 4)
        shares[chosen] += 0.5
        parsed = number not in (11, 37)
        options = {letter: round(float(share), 3) for letter, share in zip("ABCD", shares, strict=True)}
        rows.append({
            "Question ID": number,
            "content": '{\n"Answer": ...',
            "correct_format": parsed,
            "Answer": LETTERS[chosen] if parsed else "",
            **(options if parsed else dict.fromkeys(options, "")),
            "correct_answer": LETTERS[key],
            "model": "invented-medium",
            "dataset": "sciq_invented",
        })  # fmt: skip
        if parsed:
            grades.append(right)
            confidences.append(options[LETTERS[chosen]])
    write_csv(folder / "options_wide.csv", rows)
    return [figures(confidences, grades) | {"accuracy": sum(grades) / len(rows)}]  # what does not parse is not right


def two_columns(folder: Path, confidence, correct) -> list[dict[str, float]]:
    """A confidence and a grade, and nothing else."""
    rows = [{"p_max": float(sure), "hit": int(right)} for sure, right in zip(confidence, correct, strict=True)]
    write_csv(folder / "two_columns.csv", rows)
    return [figures(confidence, correct)]


def semicolons(folder: Path, confidence, correct) -> list[dict[str, float]]:
    """A table as a spreadsheet of another country saves it."""
    sure, right = np.round(confidence[:40], 2), correct[:40]
    rows = [
        {
            "Modell": "erfunden",
            "Frage": question(number),
            "Antwort": f"wort{number}",
            "Konfidenz": f"{sure[number]:.2f}".replace(".", ","),
            "richtig": "ja" if right[number] else "nein",
        }
        for number in range(40)
    ]
    write_csv(folder / "semicolons_decimal_comma.csv", rows, delimiter=";", encoding="cp1252")
    return [figures(sure, right)]


def nested(folder: Path, confidence, correct) -> list[dict[str, float]]:
    """Nested JSON Lines, as a home-made harness writes them: two runs of one model on different days."""
    runs = []
    with (folder / "nested.jsonl").open("w", encoding="utf-8") as out:
        for start, day in ((0, "2026-10-01"), (40, "2026-11-01")):
            right = correct[start : start + 40]
            percent = [round(100 * float(value)) for value in confidence[start : start + 40]]
            for number in range(40):
                word = f"word{number if right[number] else number + 1}"
                row = {
                    "run": {"model": "invented-large", "date": day},
                    "sample": {
                        "id": f"s{number}",
                        "input": question(number),
                        "target": f"word{number}",
                        "metadata": {"subject": SUBJECTS[number % 3]},
                    },
                    "output": {"answer": word, "confidence": f"{percent[number]}{'%' if number % 2 else ' %'}"},
                    "score": "C" if right[number] else "I",
                }
                out.write(json.dumps(row) + "\n")
            runs.append(figures([value / 100 for value in percent], right))
    return runs


def forecasts(folder: Path, random) -> list[dict[str, float]]:
    """Probabilities of yes by two models, one of which was not asked everything; outcomes are the same for both."""
    logits = random.normal(0, 1.5, 70)
    outcomes = random.random(70) < 1 / (1 + np.exp(-logits))
    rows, runs = [], []
    for model, noise in (("invented-large", 0.6), ("invented-small", 1.4)):
        stated, resolved = [], []
        for number in range(70):
            probability = round(float(1 / (1 + np.exp(-(logits[number] + random.normal(0, noise))))), 3)
            if model == "invented-small" and number % 9 == 4:
                continue
            rows.append({
                "forecaster": model,
                "question_title": f"Will invented event {number} happen?",
                "category": SUBJECTS[number % 3],
                "probability_yes": probability,
                "resolution": "yes" if outcomes[number] else "no",
            })  # fmt: skip
            stated.append(probability)
            resolved.append(outcomes[number])
        probabilities, happened = np.array(stated), np.array(resolved)
        runs.append({
            "accuracy": float(((probabilities > 0.5) == happened).mean()),
            "brier": float(((probabilities - happened) ** 2).mean()),
        })  # fmt: skip
    write_csv(folder / "forecasts.csv", rows)
    return runs


def workbook(folder: Path, confidence, correct) -> list[dict[str, float]]:
    """Two sheets, each with a title above the header."""
    sheets, runs = {}, []
    for start, model in ((0, "invented-small"), (40, "invented-large")):
        sure, right = np.round(confidence[start : start + 40], 2), correct[start : start + 40]
        rows = [
            [
                number + 1,
                question(number),
                f"word{number if right[number] else number + 1}",
                f"word{number}",
                float(sure[number]),
                "yes" if right[number] else "no",
            ]
            for number in range(40)
        ]
        header = ["Item", "Question", "Model answer", "Gold", "How sure?", "OK?"]
        sheets[model] = [[f"Results of {model}, invented"], header, *rows]
        runs.append(figures(sure, right))
    write_workbook(folder / "workbook.xlsx", sheets)
    return runs


def write_csv(path: Path, rows: list[dict], *, delimiter: str = ",", encoding: str = "utf-8") -> None:
    """Write rows with a header."""
    with path.open("w", encoding=encoding, newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def write_workbook(path: Path, sheets: dict[str, list]) -> None:
    """Write a workbook with the rows of each sheet: numbers as such, also those that are given as text."""
    kinds = "http://schemas.openxmlformats.org/{}/2006/{}"
    main, links = kinds.format("spreadsheetml", "main"), kinds.format("officeDocument", "relationships")

    def cell(value: object) -> str:
        if re.fullmatch(r"-?[\d.]+(e-\d+)?", str(value)):
            return f"<c><v>{value}</v></c>"
        return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(str(value))}</t></is></c>'

    names = [(n, name) for n, name in enumerate(sheets, start=1)]
    listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in names)
    related = "".join(f'<Relationship Id="rId{n}" Type="{links}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n, _ in names)
    packages = kinds.format("package", "relationships")
    root = f'<Relationship Id="rId1" Type="{links}/officeDocument" Target="xl/workbook.xml"/>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_rels/.rels", f'<Relationships xmlns="{packages}">{root}</Relationships>')
        archive.writestr("xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{links}"><sheets>{listed}</sheets></workbook>')
        archive.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{packages}">{related}</Relationships>')
        for n, name in names:
            text = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in sheets[name])
            sheet = f'<worksheet xmlns="{main}"><sheetData>{text}</sheetData></worksheet>'
            archive.writestr(f"xl/worksheets/sheet{n}.xml", sheet)
