"""Puts the mistake into functions that are loaded already, so that a trial is a fork and imports nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from inspect import CO_NEWLOCALS
from pathlib import Path
from types import CodeType, FunctionType

import python_places


class NotInAFunctionError(Exception):
    """The mistake is outside of the code of functions: in a default, or in what a function closes over."""


def exchange(path: Path, name: str) -> None:
    """Make the mistake of that name in every function of this process that has the code."""
    right = compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
    wrong = compile(python_places.mutated(path, name), str(path), "exec", dont_inherit=True)
    changed = dict(_changed(right, wrong))
    functions = [
        function
        for function in gc.get_objects()
        if isinstance(function, FunctionType)
        and function.__code__.co_filename == str(path)
        and function.__code__ in changed
    ]
    if not functions:
        raise NotInAFunctionError(name)
    for function in functions:
        code = changed[function.__code__]
        if code.co_freevars != function.__code__.co_freevars:
            raise NotInAFunctionError(name)
        function.__code__ = code


def _changed(right: CodeType, wrong: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the functions that differ, without those inside them."""
    codes = ([code for code in one.co_consts if isinstance(code, CodeType)] for one in (right, wrong))
    for old, new in zip(*codes, strict=True):
        if old != new:
            if old.co_flags & CO_NEWLOCALS:
                yield old, new
            else:
                yield from _changed(old, new)
