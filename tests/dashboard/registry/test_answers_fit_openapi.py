"""No address fails, and none contradicts the OpenAPI document, whatever keys are drawn for it."""

from tests.helpers.examples import examples
from tests.helpers.openapi_calls import call_every_address, drawing


def test_every_answer_is_as_described(app):
    statuses, faults = call_every_address(app, drawing(examples(2)))
    assert not faults, "\n\n".join(f"{address}: {fault}" for address, fault in faults.items())
    assert statuses[200] > 20 and statuses[400] > 20, statuses
