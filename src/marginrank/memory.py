"""How much memory this process may count on."""

from __future__ import annotations

import os
from pathlib import Path

# Where the operating system does not tell.
_UNKNOWN = 8 << 30
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
