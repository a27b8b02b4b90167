"""Every control of the pages that show all runs at once; see ``walking``."""

import pytest

from tests.helpers.walking import walk

WALKED = ("/", "/reliability", "/difficulty", "/slices", "/people")
pytestmark = pytest.mark.walk


@pytest.mark.parametrize("path", WALKED)
def test_the_address_holds_what_every_control_sets(visit, path):
    walk(visit, path)
