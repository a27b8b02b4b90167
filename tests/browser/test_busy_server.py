"""A page whose server is too busy waits and asks again, without a click."""

import json

from tests.helpers.page_actions import board


def test_a_page_waits_for_a_busy_server(page):
    refused = []

    def refuse_twice(route):
        answer = route.fetch()
        if len(refused) < 2:
            content = answer.json()
            drawing = json.loads(content["response"]["answer"]["data"])
            drawing |= {"again": 1, "content": {"type": "H1", "namespace": "dash_html_components", "props": {"children": "Busy"}}}
            content["response"]["answer"]["data"] = json.dumps(drawing)
            refused.append(route.request.post_data_json["inputs"][0]["value"]["query"])
            return route.fulfill(json=content)
        return route.fulfill(response=answer)

    page.route("**/_dash-update-component", refuse_twice)
    page.goto("/?dataset=tone")
    page.get_by_role("heading", name="Busy").wait_for()
    page.locator("table.board").wait_for()
    assert len(refused) == 2 and len(board(page)) == 6
