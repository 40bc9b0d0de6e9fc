"""Attributes that are computed when they are first asked for, in every Python without a lock.

Python 3.11 computes a ``functools.cached_property`` under one lock for all objects of a class: threads that
fit wait for each other, and a process that is forked meanwhile waits for ever. Later releases have none.
Without it two threads may compute the same value, and one of the two stays.

Examples
--------
>>> class Square:
...     side = 3
...     @cached_property
...     def area(self):
...         print("computed")
...         return self.side**2
>>> square = Square()
>>> square.area, square.area
computed
(9, 9)
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801  # the name that it has elsewhere
        """Decorate a method that an attribute of the same name takes the place of, once it was called."""

        def __init__(self, method: Any) -> None:
            self.method = method
            self.__doc__ = method.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.method(instance)
            return value
