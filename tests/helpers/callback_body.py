"""The body with which a page asks for a drawing: the only callback of Dash that the server answers."""


def callback_body(path="/", query="", **more):
    """Return the body for an address, with further values such as ``draft``."""
    value = {"path": path, "query": query, "page": True, "draft": None} | more
    return {
        "output": "answer.data", "outputs": {"id": "answer", "property": "data"},
        "inputs": [{"id": "request", "property": "data", "value": value}],
        "changedPropIds": ["request.data"], "parsedChangedPropsIds": ["request.data"],
    }  # fmt: skip
