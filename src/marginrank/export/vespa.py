"""Rank profiles of Vespa: a model as an expression over rank features, in float64.

A column called as a rank feature, such as ``bm25(title)`` or ``fieldMatch(title).completeness``, is that
feature; a plain name is an attribute.
"""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError
from marginrank.export.base import ExportedModel, Options, Scorer, Target, Written, used_columns
from marginrank.export.numbers import literal, nested_sum
from marginrank.types import Rows, Vector

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ARGUMENT = r"[\w.@$-]+"
_FEATURE = re.compile(
    rf"[A-Za-z_]\w*\({_ARGUMENT}(\s*,\s*{_ARGUMENT})*\)(\.[A-Za-z_]\w*)*|[A-Za-z_]\w*(\.[A-Za-z_]\w*)+",
    re.ASCII,
)


class Vespa(Target):
    """A rank profile of Vespa."""

    name: ClassVar[str] = "vespa"
    title: ClassVar[str] = "A rank profile of Vespa"

    def write(self, model: ExportedModel, options: Options) -> Written:
        """Return a rank profile."""
        if not _NAME.fullmatch(options.model_name):
            raise MarginRankError.saying(
                "A rank profile is called by letters, digits and _; got {name!r}.",
                "Set {model_name}.",
                name=options.model_name,
            )
        columns = used_columns(model.coef)
        terms = [f"{literal(model.coef[j])} * {_rank_feature(options.names[j])}" for j in columns]
        if model.intercept:
            terms.append(literal(model.intercept))
        text = (
            f"rank-profile {options.model_name} {{\n"
            "    first-phase {\n"
            "        expression {\n"
            f"            {nested_sum(terms, ' ' * 12)}\n"
            "        }\n"
            "    }\n"
            "}\n"
        )
        return Written(text.encode(), columns)

    def scorer(self, content: bytes, options: Options) -> Scorer:
        """Return what evaluates the expression in float64, in the order of its parentheses."""
        text = content.decode()
        lines = text[text.index("expression {") :].splitlines()[1:-3]
        place = {_rank_feature(name): j for j, name in enumerate(options.names) if _is_feature(name)}

        def score(X: NDArray[np.float64], queries: Rows) -> Vector:
            sums = [np.zeros(len(X))]
            for line in lines:
                written = line.strip().removeprefix("+ ")
                term = written.lstrip("(")
                sums += [np.zeros(len(X)) for _ in range(len(written) - len(term))]
                weight, _, feature = _without_closing(term).partition(" * ")
                sums[-1] = sums[-1] + float(weight) * (X[:, place[feature]] if feature else 1.0)
                for _ in range(len(term) - len(_without_closing(term))):
                    group = sums.pop()
                    sums[-1] = sums[-1] + group
            return sums[0]

        return score


def _without_closing(term: str) -> str:
    """Return a term without the parentheses that close groups, but with its own."""
    surplus = term.count(")") - term.count("(")
    return term[: len(term) - surplus] if surplus else term


def _is_feature(name: str) -> bool:
    return bool(_FEATURE.fullmatch(name) or _NAME.fullmatch(name))


def _rank_feature(name: str) -> str:
    if _FEATURE.fullmatch(name):
        return name
    if _NAME.fullmatch(name):
        return f"attribute({name})"
    raise MarginRankError.saying(
        "The column {column!r} cannot be an attribute or a rank feature of Vespa, which are called as in "
        "popularity or bm25(title).",
        "Rename it for the export with {names}.",
        column=name,
    )
