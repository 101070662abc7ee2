"""Damaged models and wrong calls end in a result or in a sentence; `make campaign` runs thousands of them."""

import pytest

pytest.importorskip("resource", reason="limits of a process are those of POSIX")
import hostile


@pytest.mark.parametrize("kind", ["model", "contact", "call"])
def test_damaged_models_and_wrong_calls_end_in_a_result_or_a_sentence(kind):
    found = hostile.campaign([(kind, seed) for seed in range(25)])
    assert len(found) == 25
    assert [case for case in found if case[2] == "defect"] == []
    assert "sentence" in {verdict for _, _, verdict, _ in found}


def test_what_is_no_sentence_is_found_out():
    found = hostile.campaign([("sound", 0), ("crash", 1), ("raw", 2), ("divided", 3), ("sound", 4)])
    assert [(kind, seed) for kind, seed, _, _ in found] == [
        ("sound", 0), ("crash", 1), ("raw", 2), ("divided", 3), ("sound", 4)
    ]  # fmt: skip
    assert [verdict for _, _, verdict, _ in found] == ["result", "defect", "defect", "defect", "result"]
    assert "status -11" in found[1][3]
    assert "AttributeError" in found[2][3]


def test_cases_are_the_same_for_the_same_seed():
    assert hostile.model_text(7) == hostile.model_text(7) != hostile.model_text(8)
