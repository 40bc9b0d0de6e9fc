"""Errors and warnings of the library, and the sentences that they say.

Each error is a ``ValueError`` underneath, so code that already catches those keeps working. A sentence that
names parameters is a :class:`Sentence`: it knows which, so that the command line can name options instead.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, Self, TypeVar

from marginrank.exceptions.sentences import Sentence, Words, did_you_mean, shown, shown_path

__all__ = [
    "ClusterError",
    "IncompatibleSolverError",
    "InterruptedWarning",
    "MarginRankError",
    "ModelFileError",
    "NothingToRankError",
    "ParameterError",
    "Sentence",
    "Words",
    "WrongTypeError",
    "ZeroModelWarning",
    "did_you_mean",
    "shown",
    "shown_path",
    "warn",
]

# Whose lines say nothing about a warning of ours: they pass calls on.
_PASSED_ON = {__name__.split(".")[0], "contextlib", "joblib", "sklearn"}
_Error = TypeVar("_Error", bound="MarginRankError")


class MarginRankError(ValueError):
    """Base of the library's own errors: the input or the configuration cannot be used as it is.

    Parameters
    ----------
    message : str
        One sentence, and what to do; a :class:`Sentence` where it names parameters.

    Examples
    --------
    >>> from marginrank import RankSVM
    >>> try:
    ...     RankSVM(alpha=-1.0).fit([[0.0], [1.0]], [0, 1])
    ... except MarginRankError as error:
    ...     print(error.parameter, error.value)
    alpha -1.0
    """

    #: The parameter that the error is about, if there is one, and its value, if that is what is wrong.
    parameter: str | None = None
    value: Any = None

    @classmethod
    def saying(cls, template: str, /, *remedies: str, **values: Any) -> Self:
        """Return the error with a :class:`Sentence`."""
        return cls(Sentence(template, *remedies, **values))

    @classmethod
    def naming(cls, parameter: str, text: str) -> Self:
        """Return the error with a sentence that begins with the name of a parameter."""
        error = cls(Sentence.of(f" {text}").after(Sentence(f"{{{parameter}}}")))
        error.parameter = parameter
        return error

    @property
    def sentence(self) -> Sentence:
        """What the error says, to be rendered by any front end."""
        return Sentence.of(self.args[0] if len(self.args) == 1 else str(self))

    @property
    def remedies(self) -> tuple[str, ...]:
        """What to do, in the words of Python."""
        return self.sentence.advice

    def about(self, beginning: str) -> Self:
        """Return the same error with something before its sentence, such as ``Sentence("{eval_set}: ")``."""
        return _restored(type(self), (self.sentence.after(beginning),), self.__dict__)

    def __reduce__(self) -> tuple[Any, ...]:
        # Not by __init__, which takes the parts of the sentence in some classes.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[_Error], arguments: tuple[Any, ...], state: dict[str, Any]) -> _Error:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(state)
    return error


class ParameterError(MarginRankError):
    """A parameter has a value that it cannot have.

    Parameters
    ----------
    parameter : str
        Its name in Python.
    expected : str
        What it must be.
    value : object
        What it was.
    *remedies : str
        What to do, as in :class:`Sentence`.

    Examples
    --------
    >>> error = ParameterError("alpha", "a positive number", -1.0)
    >>> error.parameter, error.value, str(error)
    ('alpha', -1.0, 'alpha must be a positive number; got -1.0.')
    """

    def __init__(self, parameter: str, expected: str, value: Any, *remedies: str) -> None:
        self.parameter, self.value = parameter, value
        template = f"{{{parameter}}} must be {{expected!s}}; got {{value!s}}."
        super().__init__(Sentence(template, *remedies, expected=expected, value=shown(value)))


class WrongTypeError(MarginRankError, TypeError):
    """An array holds something else than numbers; scikit-learn promises a ``TypeError`` for that.

    Examples
    --------
    >>> from marginrank.judging import suggest_pairs
    >>> try:
    ...     suggest_pairs("model.mrk", [[0.0], [1.0]])
    ... except TypeError as error:
    ...     print(type(error).__name__)
    WrongTypeError
    """


class NothingToRankError(MarginRankError):
    """The data hold no comparable pair, so there is nothing to learn from.

    Examples
    --------
    >>> from marginrank import RankSVM
    >>> try:
    ...     RankSVM().fit([[0.0], [1.0]], [1, 1])
    ... except NothingToRankError as error:
    ...     print(type(error).__name__)
    NothingToRankError
    """


class IncompatibleSolverError(MarginRankError):
    """The chosen solver needs something that the chosen loss does not offer.

    Examples
    --------
    >>> from marginrank import RankSVM
    >>> try:
    ...     RankSVM("hinge", solver="newton").fit([[0.0], [1.0]], [0, 1])
    ... except IncompatibleSolverError as error:
    ...     print(error.parameter or "solver")
    solver
    """


class ModelFileError(MarginRankError):
    """A model cannot be written to a file, or read from it: missing, damaged, or not a model at all.

    Examples
    --------
    >>> from marginrank import RankingModel
    >>> try:
    ...     RankingModel.load("no-such-file.mrk")
    ... except ModelFileError as error:
    ...     print(type(error).__name__)
    ModelFileError
    """


class ClusterError(MarginRankError):
    """The workers of a cluster failed too often, or its scheduler is gone.

    Examples
    --------
    >>> raise ClusterError("The scheduler is gone. Start it again.")
    Traceback (most recent call last):
        ...
    marginrank.exceptions.ClusterError: The scheduler is gone. Start it again.
    """


class InterruptedWarning(RuntimeWarning):
    """Ctrl-C ended the work early; what was reached is returned.

    Examples
    --------
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", InterruptedWarning)  # Ctrl-C then ends a fit without a word
    """


class ZeroModelWarning(UserWarning):
    """No model is better than the one whose scores are all zero; the message says why, and what to do.

    Examples
    --------
    >>> from marginrank import RankSVM
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = RankSVM(alpha=50.0, l1_ratio=0.9).fit([[0.0], [1.0]], [0, 1])
    >>> [one.category.__name__ for one in caught], model.coef_.tolist()
    (['ZeroModelWarning'], [0.0])
    """


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and point to the line outside of this package that called it, however deep the reason lies.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("Nothing to learn.", UserWarning)
    >>> [str(one.message) for one in caught]
    ['Nothing to learn.']
    """
    # From Python 3.12 on this is ``skip_file_prefixes``.
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _PASSED_ON:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
