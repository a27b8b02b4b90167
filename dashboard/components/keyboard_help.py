"""The list of keyboard shortcuts, opened with "?"."""

from __future__ import annotations

from dash import html

from dashboard.components.html_attributes import aria, data

# Where the keys work, then what each key does.
KEYS: dict[str, dict[str, str]] = {
    "Everywhere": {"?": "Show this list", "Esc": "Close a menu or a dialog"},
    "A question": {"← →": "Previous or next clue", "p  n": "Previous or next question"},
    "Names above a figure": {"Tab": "Bring the next run forward", "Enter": "Pin the run, or unpin it"},
    "Guesses to grade": {"y": "Correct", "n": "Wrong", "u": "Undo the correction", "↑ ↓": "Previous or next guess"},
    "Menu of datasets": {"↑ ↓": "Previous or next dataset", "Enter": "Open it"},
}


def keyboard_help() -> list[html.Button | html.Dialog]:
    """Return a button and the dialog that it opens; ``assets/keyboard_help.js`` also opens it for the key."""
    groups = [
        html.Section(
            [
                html.H3(where),
                html.Dl([part for key, effect in keys.items() for part in (html.Dt(html.Kbd(key)), html.Dd(effect))]),
            ]
        )
        for where, keys in KEYS.items()
    ]
    close = html.Form(html.Button("Close", className="quiet"), method="dialog")
    return [
        html.Button(
            "?",
            type="button",
            className="quiet",
            title="Keyboard shortcuts (?)",
            **data(opens="keys"),
            **aria(label="Keyboard shortcuts"),
        ),
        html.Dialog([html.H2("Keyboard shortcuts", id="keys-title"), *groups, close], id="keys", **aria(labelledby="keys-title")),
    ]
