"""A page whose server is too busy waits and asks again, without a click."""

import json

from tests.helpers.page_actions import board


def test_a_page_waits_for_a_busy_server(page):
    answers = []

    def refuse_twice(route):
        answer = route.fetch()
        answers.append(answer.status)
        if len(answers) > 2:
            return route.fulfill(response=answer)
        content = answer.json()
        drawing = json.loads(content["response"]["answer"]["data"])
        drawing |= {"again": 1, "content": [], "outline": "", "fragments": {}, "figures": {}, "states": {}}
        content["response"]["answer"]["data"] = json.dumps(drawing)
        return route.fulfill(json=content)

    page.route("**/_dash-update-component*", refuse_twice)
    page.goto("/?dataset=tone")
    page.locator("table.board").wait_for()
    assert len(answers) == 3 and len(board(page)) == 6
