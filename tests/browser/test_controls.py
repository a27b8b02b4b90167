"""Every control of every page; see ``tests.helpers.page_walk``."""

import pytest

from tests.helpers.page_walk import DETAILS, OVERVIEWS, WITHOUT_CONTROLS, pages, walk

pytestmark = pytest.mark.walk


def test_every_page_of_the_navigation_is_walked(visit):
    assert {path for path, _, _ in pages(visit())} == {*OVERVIEWS, *DETAILS, *WITHOUT_CONTROLS}


@pytest.mark.parametrize("path", (*OVERVIEWS, *DETAILS))
def test_the_address_holds_what_every_control_sets(visit, path):
    walk(visit, path)
