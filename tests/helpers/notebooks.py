"""Documents that work like notebooks: blocks of Python, each followed by its output, run in order in one namespace."""

import contextlib
import io
import re

PYTHON = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def run_notebook(text, name, replacements):
    """Return the output of a document's blocks, with the output that the document states ('' if it states none).

    ``replacements`` are texts in the code that are replaced before it runs, such as the address of a server.
    """
    namespace = {}
    pairs = []
    for place, (code, expected) in enumerate(PYTHON.findall(text)):
        source = code
        for old, new in replacements.items():
            source = source.replace(old, new)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(source, f"{name}, block {place + 1}", "exec"), namespace)
        pairs.append((output.getvalue(), expected))
    return pairs
