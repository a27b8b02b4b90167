"""Logs of evaluation harnesses, in the form in which the harnesses write them."""

import json
import math
import sys

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def lm_eval_sample(doc_id, /, likelihoods, target=0, question="Which?", options=("this", "that"), **changes):
    """Return one line of lm-evaluation-harness, with numbers as text, as in its files."""
    pairs = [[str(value), "False"] for value in likelihoods]
    best = max(range(len(likelihoods)), key=lambda index: likelihoods[index])
    row = {
        "doc_id": doc_id, "doc": {"question": f"{question} ({doc_id})", "choices": list(options)}, "target": str(target),
        "arguments": {f"gen_args_{index}": {"arg_0": f"Question: {question}\nAnswer:", "arg_1": f" {option}"}
                      for index, option in enumerate(options)},
        "resps": [[pair] for pair in pairs], "filtered_resps": pairs, "filter": "none", "metrics": ["acc", "acc_norm"],
        "doc_hash": "0" * 64, "prompt_hash": "1" * 64, "target_hash": "2" * 64,
        "acc": float(best == target), "acc_norm": float(best == target),
    }  # fmt: skip
    return {key: value for key, value in (row | changes).items() if value is not ...}


def inspect_score(value="C", answer="Paris", **metadata):
    return {"value": value, "answer": answer, "explanation": "", "history": []} | ({"metadata": metadata} if metadata else {})


def inspect_tokens(probabilities, chosen, before=("ANSWER", ":")):
    """Return an output that ends with a letter, with the probabilities of its alternatives."""
    top = [{"token": f" {letter}", "logprob": math.log(share)} for letter, share in probabilities.items()]
    own = next(token["logprob"] for token in top if token["token"] == f" {chosen}")
    content = [{"token": token, "logprob": -0.01, "top_logprobs": []} for token in before]
    return output(f"ANSWER: {chosen}", [*content, {"token": f" {chosen}", "logprob": own, "top_logprobs": top}])


def output(text, content=None):
    choice = {"message": {"content": text, "role": "assistant"}, "stop_reason": "stop"}
    return {"model": "m", "choices": [choice | ({"logprobs": {"content": content}} if content else {})], "completion": text}


def inspect_sample(name, /, scores, **changes):
    row = {
        "id": name, "epoch": 1, "input": f"Where is {name}?", "target": "Paris", "messages": [], "output": output("Paris"),
        "scores": scores, "metadata": {}, "store": {}, "events": [],
    }  # fmt: skip
    return {key: value for key, value in (row | changes).items() if value is not ...}


def inspect_log(samples, /, status="success", **about):
    about = {"task": "towns", "model": "openai/gpt", "dataset": {"name": "towns"}, "config": {"epochs": 1}} | about
    return {"version": 2, "status": status, "eval": about, "plan": {}, "stats": {}, "samples": samples}


def write_eval(path, log, header="header.json", packing=zipfile.ZIP_ZSTANDARD):
    """Write a log as an .eval file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": log["eval"], "plan": {}}))
        for sample in log["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("summaries.json", "[]")
        if header:
            archive.writestr(header, json.dumps({key: value for key, value in log.items() if key != "samples"}))
    return path


def write_chunked_eval(path, log, attachments=("",)):
    """Write a log whose samples are chunked: their long texts, given by index, stand in two files."""
    with zipfile.ZipFile(write_eval(path, log | {"samples": []}), "a") as archive:
        for sample in log["samples"]:
            folder = f"samples/{sample['id']}_epoch_{sample['epoch']}"
            shell = {key: value for key, value in sample.items() if key not in ("messages", "events", "attachments", "metadata")}
            parts = {"sample": shell, "metadata": sample["metadata"], "skeleton": {}, "events/stats": {}, "messages/0": [],
                     "attachments/0": attachments[:2], "attachments/2": attachments[2:]}  # fmt: skip
            for name, part in parts.items():
                archive.writestr(f"{folder}/{name}.json", json.dumps(part))
    return path


def helm_instance(name, /, references=("north", "south"), right=0, **changes):
    tagged = [{"output": {"text": text}, "tags": ["correct"] if index == right else []} for index, text in enumerate(references)]
    return {"id": name, "input": {"text": f"Where is {name}?"}, "references": tagged, "split": "test"} | changes


def helm_state(instance, text="A", logprob=-0.5, **changes):
    """Return a request with its completion. ``tokens`` go into the completion, other keywords into the request."""
    completion = {"text": text, "logprob": logprob, "tokens": changes.pop("tokens", [])}
    state = {"instance": instance, "train_trial_index": 0, "result": {"success": True, "completions": [completion]}}
    return state | changes


def helm_joint(instance, letter="A", logprob=-0.5, **changes):
    references = [reference["output"]["text"] for reference in instance["references"]]
    return helm_state(instance, f" {letter}", logprob, output_mapping=dict(zip("ABC", references, strict=False)), **changes)


def helm_separate(instance, *logprobs, mode="original"):
    return [helm_state(instance, "", logprob, reference_index=index, request_mode=mode) for index, logprob in enumerate(logprobs)]


def helm_stats(name, /, trial=0, **means):
    stats = [{"name": {"name": metric, "split": "test"}, "count": 1, "sum": mean, "mean": mean} for metric, mean in means.items()]
    return {"instance_id": name, "train_trial_index": trial, "stats": stats}


def write_helm(folder, states, stats=None, run="towns:lang=en,method=multiple_choice_joint,model=openai_gpt", model="openai/gpt"):
    folder.mkdir(parents=True)
    state = {"adapter_spec": {"method": "multiple_choice_joint", "model": model}, "request_states": states}
    parts = {"scenario_state": state, "per_instance_stats": stats, "run_spec": run and {"name": run}}
    for part, content in parts.items():
        if content is not None:
            (folder / f"{part}.json").write_text(json.dumps(content, indent=2))
    return folder


def judged(correct, confidence, guess="Paris", model="gpt", right="Paris"):
    """Return one answer with a judge's verdict."""
    verdict = {"correct_answer": right, "model_answer": guess, "reasoning": "", "correct": correct, "confidence": confidence}
    return {"model": model, "response": f"{guess}, I believe", "usage": {}, "judge_response": verdict}


def resolutions(*rows, due="2024-07-21"):
    """Return a resolution set of ForecastBench. Rows are id, date, value, and whether resolved."""
    names = ("id", "resolution_date", "resolved_to", "resolved")
    made = [{"source": "fred", "direction": None, **dict(zip(names, row, strict=True))} for row in rows]
    return {"forecast_due_date": due, "question_set": f"{due}-llm.json", "resolutions": made}


def forecasts(*rows, model="GPT", due="2024-07-21"):
    """Return a forecast set of ForecastBench. Rows are id, date, probability and, for people, who."""
    names = ("id", "resolution_date", "forecast", "user_id")
    made = [{"source": "fred", "direction": None, "reasoning": "", **dict(zip(names, row, strict=False))} for row in rows]
    return {"organization": "Lab", "model": model, "question_set": f"{due}-llm.json", "forecasts": made}


def uqlm_result(prompts, responses, **scores):
    """Return a result of UQLM as a dictionary."""
    sampled = [[response, "other"] for response in responses]
    return {
        "data": {"prompts": prompts, "responses": responses, "sampled_responses": sampled} | scores,
        "metadata": {"temperature": 1},
    }


def evaluation_record(name, /, right=True, guess="Nile", **changes):
    """Return a record of Every Eval Ever, of a single turn, with the keys that its schema requires."""
    row = {
        "schema_version": "0.3.0", "evaluation_id": "rivers/org/a/1767225600", "model_id": "org/a", "evaluation_name": "rivers",
        "sample_id": name, "interaction_type": "single_turn",
        "input": {"raw": f"Which river is {name}?", "reference": ["Nile", "the Nile"], "choices": None},
        "output": {"raw": [f"It is the {guess}."], "reasoning_trace": None}, "messages": None,
        "answer_attribution": [{"turn_idx": 0, "source": "output.raw", "extracted_value": guess, "extraction_method": "regex",
                                "is_terminal": True}],
        "evaluation": {"score": float(right), "is_correct": right}, "metadata": {"subject": "geography"},
    }  # fmt: skip
    return row | changes


def lighteval_detail(n, *, metric, logprobs=(), gold=0, text=None):
    """Return one row of the details of lighteval."""
    doc = {"query": f"Which is {n}?", "choices": [f" {town} {n}" for town in ("Oslo", "Rome", "Bonn", "Riga")],
        "gold_index": [gold], "id": str(n), "task_name": "quiz|0", "num_asked_few_shots": 0}  # fmt: skip
    response = {"text": [] if text is None else [text], "logprobs": [*logprobs], "truncated_tokens_count": 0}
    return {"doc": doc, "metric": metric, "model_response": response}


def rollout(n, *, reward, metrics=None):
    """Return one row of the results of verifiers."""
    completion = f"Let me see.\nAnswer: {n}\nConfidence: 75%"
    prompt = [{"role": "user", "content": f"Which is {n}?"}]
    return {
        "example_id": n, "prompt": prompt, "completion": [{"role": "assistant", "content": completion}], "answer": str(n),
        "info": {}, "reward": reward, "error": None, "timing": {"total_ms": 12.0}, "is_completed": True, "is_truncated": False,
        "metrics": metrics or {}, "token_usage": {"input_tokens": 5, "output_tokens": 9},
    }  # fmt: skip
