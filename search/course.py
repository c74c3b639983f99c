"""The course of a search: what the clock and its caller did to it, and at which of its steps, so that another search
can be led the same way.

All else that a search depends on is given: its position, its parameters, what it learned before, its random numbers.
With one worker the same course gives the same result, to the last digit; with several only as many visits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from search.result import SearchResult, StopReason

UNSEARCHED = -1
"""In place of the last step: the search was stopped before its root was evaluated."""


@dataclass
class Course:
    """What happened to one search. The search writes it, or follows it where it `leads`.

    A step is a call of the kernel that expands and selects leaves, by any worker (for players of search/textbook/: a
    look at the clock).
    """

    reason: str = ""
    """The value of the StopReason with which the search ended; empty where it raised an error."""
    step: int = 0
    """How many steps there were at its end, or UNSEARCHED."""
    visits: int = 0
    """Visits of the root at its end."""
    under_way: int = 0
    """Leaves that were being evaluated then, and were lost."""
    seconds: float = 0.0
    """How long it took."""
    reports: list[tuple[int, int]] = field(default_factory=list)
    """Steps and visits at each report."""
    had_time: list[bool] = field(default_factory=list)
    """The answers of `has_time`, in their order."""
    expected: int | None = None
    """How many visits a search of search/textbook/ was to have, as far as it could tell at its start."""
    leads: bool = False
    """Whether the search follows this course, and looks neither at the clock nor, once its root is evaluated, at its
    `stop` event. Where it was UNSEARCHED, `stop` has to be set before."""
    by_visits: bool = False
    """Whether it does so by visits, because with several workers steps mean nothing."""

    def has_time(self, is_there: bool) -> bool:
        """Return whether there is time for something that is done only if there is: `is_there`, or as it was."""
        if self.leads:
            return self.had_time.pop(0) if self.had_time else is_there
        self.had_time.append(is_there)
        return is_there

    def begins_last_step(self, steps: int, visits: int) -> bool:
        """Return whether the next step of the search that follows is the last one, which selects nothing."""
        if self.by_visits:
            return visits >= self.visits
        return steps >= self.step or (steps + 1 == self.step and self.under_way == 0 and not self._ends_by_itself)

    def is_over(self, steps: int) -> bool:
        """Return whether the search that follows ends after this step, if it goes by steps."""
        return not self.by_visits and steps >= self.step + self._ends_by_itself

    def due_reports(self, steps: int, visits: int) -> Iterator[None]:
        """Yield once for each report that the search that follows has to send now."""
        while self.reports and (visits >= self.reports[0][1] if self.by_visits else steps >= self.reports[0][0]):
            del self.reports[0]
            yield

    def end(self, steps: int, under_way: int, result: SearchResult) -> None:
        """Write down how the search ended."""
        self.reason, self.seconds = result.reason.value, result.seconds
        self.step, self.under_way, self.visits = steps, under_way, result.visits

    def facts(self) -> dict[str, Any]:
        """Return what is known of the search by field, in values that JSON has. `Course(**facts)` has it, too."""
        unknown = vars(Course())
        return {name: value for name, value in vars(self).items() if value != unknown[name]}

    def told_in(self, result: SearchResult) -> SearchResult:
        """Return a result that tells of its end what the course does."""
        return dataclasses.replace(result, reason=self.stop_reason(), seconds=self.seconds)

    def stop_reason(self) -> StopReason:
        """Return why the search that follows ends."""
        return StopReason(self.reason or StopReason.INTERRUPTED.value)

    @property
    def _ends_by_itself(self) -> bool:
        return self.reason in (StopReason.VISITS.value, StopReason.MEMORY.value, "")
