"""Damaged models and wrong calls end in a result or in a sentence; `make campaign` runs thousands of them."""

import hostile
import pytest


@pytest.mark.parametrize("kind", ["model", "call"])
def test_damaged_models_and_wrong_calls_end_in_a_result_or_a_sentence(kind):
    found = hostile.campaign([(kind, seed) for seed in range(25)])
    assert len(found) == 25
    assert [case for case in found if case[2] == "defect"] == []
    assert {verdict for _, _, verdict, _ in found} == {"result", "sentence"}
