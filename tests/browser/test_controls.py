"""Every control of every page; see ``tests.helpers.page_walk``."""

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.registry.pages import navigation
from clueline.dashboard.settings import Settings
from tests.helpers.page_walk import DETAILS, OVERVIEWS, WITHOUT_CONTROLS, walk

pytestmark = pytest.mark.walk


def test_every_page_of_the_navigation_is_walked(seeded):
    create_app(Settings(store=str(seeded), workers=1))  # registers the pages
    listed = {path for pages in navigation(None).values() for path, _ in pages}
    assert listed == {*OVERVIEWS, *DETAILS, *WITHOUT_CONTROLS} - {"question"}


@pytest.mark.parametrize("path", (*OVERVIEWS, *DETAILS))
def test_the_address_holds_what_every_control_sets(visit, path):
    walk(visit, path)
