"""A fit is whole or did not happen: Ctrl-C sets the best model so far, or leaves everything as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from marginrank.storage.engines import apart_from_training
from marginrank.system.threads import one_blas_thread


class BestSoFar:
    """What a fit that is interrupted falls back on.

    ``set_best`` sets the best model so far, all of it; it returns False where there is none yet. ``is_set``
    says that the model of the whole fit is set.
    """

    set_best: Callable[[], bool] | None = None
    is_set = False

    def set(self) -> bool:
        """Set it, if there is one."""
        return self.is_set or (self.set_best is not None and self.set_best())


@contextmanager
def fitted_whole(ranker: Any) -> Iterator[BestSoFar]:
    """Make a fit whole.

    What the block raises is raised again. After Ctrl-C the best model so far is set first; where there is
    none, and after an error, the ranker is as it was before. To set it may take a pass over the data, which
    Ctrl-C once more ends: then, too, the ranker is as it was.

    Parameters
    ----------
    ranker : estimator
        What is fitted; the block sets its attributes.

    Examples
    --------
    >>> class Ranker:
    ...     pass
    >>> ranker = Ranker()
    >>> def set_best():
    ...     ranker.coef_ = "so far"
    ...     return True
    >>> def fit(*, with_a_model):
    ...     with fitted_whole(ranker) as best:
    ...         ranker.n_features_in_ = 2
    ...         if with_a_model:
    ...             best.set_best = set_best
    ...         raise KeyboardInterrupt
    >>> for with_a_model in (False, True):
    ...     try:
    ...         fit(with_a_model=with_a_model)
    ...     except KeyboardInterrupt:
    ...         print(vars(ranker))
    {}
    {'n_features_in_': 2, 'coef_': 'so far'}
    """
    before = dict(vars(ranker))
    best = BestSoFar()
    try:
        yield best
    except KeyboardInterrupt as interrupt:
        kept = False
        try:
            with one_blas_thread(), apart_from_training():
                kept = best.set()
        except Exception as error:  # a metric that has no value on what was measured so far, say
            interrupt.add_note(f"There is no best model so far: {error}")
        finally:
            if not kept:
                ranker.__dict__ = before  # one step, which cannot be interrupted
        raise
    except BaseException:
        if not best.is_set:
            ranker.__dict__ = before
        raise
