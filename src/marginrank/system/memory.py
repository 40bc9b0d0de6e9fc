"""How much memory this process may count on."""

from __future__ import annotations

import os
from pathlib import Path

from marginrank.exceptions import MarginRankError

# Where the operating system does not tell.
_UNKNOWN = 8 << 30
# With one entry a column, at least: the point, its gradient, the best one, a few steps and cutting planes.
_VECTORS = 16
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def physical_memory() -> int:
    """Return the bytes of memory of this machine, or of the container that limits this process.

    Examples
    --------
    >>> physical_memory() > 0
    True
    """
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = _UNKNOWN
    for limit in _LIMITS:
        try:
            text = limit.read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            memory = min(memory, int(text))
    return memory


def check_columns(n_columns: int) -> None:
    """Refuse to train on so many columns that the vectors of a solver cannot fit into memory.

    Examples
    --------
    >>> check_columns(10)
    >>> check_columns(2**50)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    marginrank.exceptions.MarginRankError: X has 1125899906842624 columns, for which training takes ...
    """
    least, memory = _VECTORS * 8 * n_columns, physical_memory()
    if least > memory:
        raise MarginRankError(
            f"X has {n_columns} columns, for which training takes at least {least / 1e9:.1f} GB; there are "
            f"{memory / 1e9:.1f} GB of memory. Are all feature numbers right? Leave out empty columns."
        )
