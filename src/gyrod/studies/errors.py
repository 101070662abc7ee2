"""How a study ends early; what was finished is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gyrod.studies.results import Study


class StudyError(RuntimeError):
    """A study that cannot begin or continue; ``study`` holds the runs that are there, None where it did not begin."""

    study: Study | None = None


class StudyInterrupted(KeyboardInterrupt):
    """Ctrl-C during a study; ``study`` holds the runs that are there."""

    study: Study | None = None
