"""A metric is a value: a name with every convention that changes its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from marginrank.exceptions import MarginRankError, shown
from marginrank.gains import Gain, GainTable
from marginrank.losses import Weighting
from marginrank.metrics.families import (
    CHOICES,
    DEFAULTS,
    FAMILIES,
    Discount,
    Empty,
    Family,
    Norm,
    Short,
    Ties,
)
from marginrank.parameters import finite_number, whole_number


@dataclass(frozen=True, repr=False)
class Metric:
    """A ranking metric with its conventions; equal metrics give equal figures.

    :func:`parse_metric` makes one from a name as people write it. Options that are left out get the value
    of the flavor ``standard``; those that the metric does not have stay None and cannot be given.

    Parameters
    ----------
    name : str
        A metric of :data:`marginrank.metrics.families.FAMILIES`, such as ``ndcg`` or ``map``.
    cutoff : int, optional
        Only the first ranks count.
    rel : float or "all", default=1
        Rows with a label of at least this are relevant. "all" (for ``map`` only): the mean over every such
        label that tells rows of the query apart.
    gain : {"exponential", "linear"}, mapping or GainTable
        ``2**label - 1``, the label, or what the mapping says, such as ``{0: 0, 1: 1, 2: 5}``; in a name
        ``gain=0:0/1:1/2:5``.
    discount : {"log2", "letor"}
        ``1 / log2(1 + rank)``; or 1 for the ranks 1 and 2 and ``1 / log2(rank)`` from there on.
    ties : {"input", "average", "pessimistic", "docid", "threshold"}
        Order of rows with equal scores: as they come in; the exact mean over all orders; the worst order; the
        highest document id first, compared as text. ``threshold`` (for ``map`` only): all of them at once, as
        on a precision-recall curve.
    empty : {0, 1, "skip"}
        What a query counts in which there is nothing to find.
    short : {"pad", "cut", "zero"}
        A query with fewer rows than the cutoff: missing rows are irrelevant; the cutoff is the number of rows
        (matters for ``precision``); the value is 0.
    norm : {"relevant", "cutoff"}
        ``map@k`` over all relevant rows, or over at most k of them.
    max_label : float, optional
        ``err``: the highest label of the scale; by default the highest label of the data.
    weighting : {"pairs", "queries"}
        ``pairwise_error``: the share of all pairs, in which a query counts with the number of its pairs; or
        the mean of the shares of the queries.
    p : float, default=0.8
        ``rbp``: how likely a reader is to look at the next rank, too.

    Examples
    --------
    >>> from marginrank.metrics import Metric, parse_metric
    >>> Metric("ndcg", cutoff=10) == parse_metric("nDCG@10")
    True
    >>> str(Metric("ndcg", cutoff=10, gain="linear"))
    'ndcg(gain=linear)@10'
    """

    name: str
    cutoff: int | None = None
    rel: float | Literal["all"] | None = None
    gain: Gain | Mapping[float, float] | None = None
    discount: Discount | None = None
    ties: Ties | None = None
    empty: Empty | None = None
    short: Short | None = None
    norm: Norm | None = None
    max_label: float | None = None
    weighting: Weighting | None = None
    p: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in FAMILIES:
            raise MarginRankError(
                f"Unknown metric name {shown(self.name)}; known are {', '.join(FAMILIES)}. "
                "parse_metric understands other spellings."
            )
        family = FAMILIES[self.name]
        object.__setattr__(self, "cutoff", _check_cutoff(self.name, self.cutoff, family))
        for option in OPTIONS:
            value = getattr(self, option)
            if value is None:
                value = standard_value(self.name, option)
            else:
                value = _check_option(self.name, option, value, family)
            object.__setattr__(self, option, value)
        if self.counts_pairs and self.empty != "skip":
            raise MarginRankError(
                f"A query without a pair has no part in a mean over pairs, so {self.name} with "
                f"empty={self.empty} is one over queries: write "
                f"{self.name}(weighting=queries,empty={self.empty})."
            )

    @property
    def counts_pairs(self) -> bool:
        """Whether queries count with the number of their pairs, and not alike, in the mean over queries."""
        return self.weighting == "pairs"

    @property
    def higher_is_better(self) -> bool:
        """Whether better models have higher values."""
        return FAMILIES[self.name].higher_is_better

    def spell(self, defaults: dict[str, Any]) -> str:
        """Return the name with the options that differ from these defaults."""
        written = [
            f"{option}={_show(getattr(self, option))}"
            for option in FAMILIES[self.name].options
            if getattr(self, option) != defaults[option]
        ]
        options = f"({','.join(written)})" if written else ""
        return f"{self.name}{options}{'' if self.cutoff is None else f'@{self.cutoff}'}"

    def __repr__(self) -> str:
        return f"parse_metric({str(self)!r})"

    def __str__(self) -> str:
        return self.spell({option: standard_value(self.name, option) for option in OPTIONS})


OPTIONS = tuple(field.name for field in fields(Metric) if field.name not in ("name", "cutoff"))


def standard_value(name: str, option: str) -> Any:
    """Return the value of an option in the flavor ``standard``; None where the metric does not have it."""
    family = FAMILIES[name]
    if option not in family.options:
        return None
    return family.empty if option == "empty" else DEFAULTS[option]


def _check_cutoff(name: str, cutoff: Any, family: Family) -> int | None:
    if cutoff is None:
        if family.cutoff == "required":
            raise MarginRankError(f"{name} needs a cutoff: write {name}@10, say.")
        return None
    if family.cutoff == "never":
        raise MarginRankError(f"{name} looks at the whole ranking and has no cutoff; got {shown(cutoff)}.")
    number = whole_number(cutoff)
    if number is None or number < 1:
        raise MarginRankError(f"The cutoff of {name} must be an integer of at least 1; got {shown(cutoff)}.")
    if number >= 2**31:
        raise MarginRankError(f"The cutoff of {name} must be below 2**31; got {shown(cutoff)}.")
    return number


def _check_option(name: str, option: str, value: Any, family: Family) -> Any:
    if option not in family.options:
        raise MarginRankError(f"{name} has no option {option!r}; it has {', '.join(family.options)}.")
    if option == "gain" and isinstance(value, Mapping | GainTable):
        return value if isinstance(value, GainTable) else GainTable.of(value)
    if option == "rel" and name == "map" and isinstance(value, str) and value == "all":
        return value
    if option in CHOICES:
        choices = [c for c in CHOICES[option] if c != "threshold" or name == "map"]
        plain = value if isinstance(value, str) else finite_number(value)
        if plain is None or plain not in choices:
            known = ", ".join(map(repr, choices))
            raise MarginRankError(f"{option} of {name} must be one of {known}; got {shown(value)}.")
        return choices[choices.index(plain)]
    number = finite_number(value)
    if number is None:
        raise MarginRankError(f"{option} of {name} must be a finite number; got {shown(value)}.")
    if option == "p" and not 0.0 < number < 1.0:
        raise MarginRankError(f"p of {name} must be between 0 and 1; got {shown(value)}.")
    return number


def _show(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)
