"""What ``verbose`` shows while a model trains."""

from __future__ import annotations

from functools import partial

from marginrank.solvers import Callback, Progress
from marginrank.system.status_line import StatusLine

_HEADER = "  iter   objective   lower bound       gap   passes   seconds"
_VALIDATION = "   validation"


class ProgressLine(StatusLine):
    """A callback that shows how far training is: one line kept up to date on a terminal, else a line each.

    Examples
    --------
    >>> import sys
    >>> with ProgressLine(sys.stdout) as show:
    ...     show(Progress(1, value=0.5, bound=0.4, gap=0.2, passes=2.0, seconds=0.01, validation=0.3))
      iter   objective   lower bound       gap   passes   seconds   validation
         1    0.500000      0.400000   2.0e-01      2.0      0.01       0.3000
    """

    _longest = 0

    def of_fold(self, number: int) -> Callback:
        """Return a callback that shows the progress of one of several folds, which may take turns.

        Examples
        --------
        >>> import sys
        >>> with ProgressLine(sys.stdout) as show:
        ...     show.of_fold(2)(Progress(1, value=0.5, bound=0.4, gap=0.2, passes=2.0, seconds=0.01))
          iter   objective   lower bound       gap   passes   seconds
             1    0.500000      0.400000   2.0e-01      2.0      0.01   fold 2
        """
        return partial(self._show, f"   fold {number}")

    def __call__(self, progress: Progress) -> None:
        """Show one state."""
        self._show("", progress)

    def _show(self, label: str, progress: Progress) -> None:
        header = _HEADER if progress.validation is None else _HEADER + _VALIDATION
        line = (
            f"{progress.iteration:6d}  {progress.value:10.6f}  {progress.bound:12.6f}  "
            f"{progress.gap:8.1e}  {progress.passes:7.1f}  {progress.seconds:8.2f}"
        )
        if progress.validation is not None:
            line += f"  {progress.validation:11.4f}"
        line += label
        # On a terminal, a shorter line would leave the end of a longer one standing.
        self.show(header, line.ljust(self._longest) if self._in_place else line)
        self._longest = max(self._longest, len(line))
