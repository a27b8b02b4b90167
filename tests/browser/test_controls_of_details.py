"""Every control of the pages that lead to single questions; see ``walking``."""

import pytest
import test_controls_of_overviews as overviews

from tests.helpers.walking import pages, walk

WALKED = ("/buzz", "/questions", "/compare", "question")
WITHOUT_CONTROLS = ("/runs", "/upload", "/datasets", "/metrics")
pytestmark = pytest.mark.walk


def test_every_page_of_the_navigation_is_walked(visit):
    assert {path for path, _, _ in pages(visit())} == {*overviews.WALKED, *WALKED, *WITHOUT_CONTROLS}


@pytest.mark.parametrize("path", WALKED)
def test_the_address_holds_what_every_control_sets(visit, path):
    walk(visit, path)
