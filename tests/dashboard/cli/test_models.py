"""``models``: what it lists, proposes and changes."""

NAMES = ("lab/opus-5", "Opus-5-20251101")


def test_models_are_listed_merged_and_split(cli, copied, tmp_path):
    def output(*arguments):
        done = cli("models", *arguments, store=copied)
        assert done.returncode == 0, done.stderr
        return done.stdout

    path = tmp_path / "answers.csv"
    rows = "".join(f"lit-01,0,Dracula,0.25,{name}\n" for name in NAMES)
    path.write_text(f"question_id,clue,guess,confidence,model\n{rows}", encoding="utf-8")
    assert cli("import", path, "--dataset", "pyramid", store=copied).returncode == 0
    assert "lab/opus-5: 1 run\n" in output() and "models merge 'Opus-5-20251101' 'lab/opus-5'" in output()
    assert output("merge", *NAMES, "--into", "Opus 5") == f"{', '.join(NAMES)}: now Opus 5\n"
    assert output("describe", "Opus 5", "--released", "2025-11") == "Opus 5: released set\n"
    assert f"Opus 5: 2 runs, 2025-11, also {', '.join(sorted(NAMES))}\n" in output() and "Probably" not in output()
    assert output("split", NAMES[0]) == f"{NAMES[0]}: now a model of its own\n"
    assert output("rename", NAMES[0], "opus").endswith("now called opus\n")
    refused = cli("models", "rename", "opus", "Opus 5", store=copied)
    assert refused.returncode == 1 and "to make them one, merge them" in refused.stderr
