"""What errors of models say: helpers of the tests of descriptions."""

from __future__ import annotations

import pytest

from gyrod.model import ModelError


def problems(function, /, *args, **kwargs):
    """The sentences of the error that a call ends in."""
    with pytest.raises(ModelError) as caught:
        function(*args, **kwargs)
    for sentence in caught.value.problems:
        assert sentence.endswith((".", "?"))
    return caught.value.problems


def the_problem(function, /, *args, **kwargs):
    """The only sentence."""
    (sentence,) = problems(function, *args, **kwargs)
    return sentence


def made_or_error(kind, arguments):
    """An object, or the error of the model."""
    try:
        return kind(**arguments)
    except ModelError as error:
        return error


def raising(*_):
    """A function of a user with a fault."""
    raise ZeroDivisionError("of the user")
