"""Names of a package that are imported when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose names live in its modules.

    Who wants one ranker, or a picture of a path, waits for no other: each drags in parts of scikit-learn that
    take longer to import than a small model to train.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    homes : mapping
        The module of the package that each name is in.

    Examples
    --------
    >>> lazy_names("json", {"JSONDecoder": "decoder"})("JSONDecoder").__name__
    'JSONDecoder'
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(import_module(package), name, value)
        return value

    return find
