"""The metrics: one entry each, from which names, checks, sentences, flavors and documentation are made.

A new metric is an entry of :data:`FAMILIES` and a function and a line in
``native/include/marginrank/ranking_metrics.hpp``, under the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from marginrank.gains import GAIN_NAMES

Discount: TypeAlias = Literal["log2", "letor"]
Ties: TypeAlias = Literal["input", "average", "pessimistic", "docid", "threshold"]
Empty: TypeAlias = Literal[0, 1, "skip"]
Short: TypeAlias = Literal["pad", "cut", "zero"]
Norm: TypeAlias = Literal["relevant", "cutoff"]

#: The choices of each option, the standard one first.
CHOICES: dict[str, tuple[Any, ...]] = {
    "gain": GAIN_NAMES,
    "discount": ("log2", "letor"),
    "ties": ("input", "average", "pessimistic", "docid", "threshold"),
    "empty": (0, 1, "skip"),
    "short": ("pad", "cut", "zero"),
    "norm": ("relevant", "cutoff"),
    "weighting": ("pairs", "queries"),
}
DEFAULTS: dict[str, Any] = {
    "rel": 1.0,
    **{option: choices[0] for option, choices in CHOICES.items()},
    "max_label": None,
    "p": 0.8,
}
#: The tools whose conventions a name can follow.
FLAVOR_NAMES = ("standard", "letor", "lightgbm", "xgboost", "catboost", "sklearn", "trec")


@dataclass(frozen=True)
class Family:
    """A metric with all its conventions open: what can be asked of it, and what tools make of it.

    Attributes
    ----------
    what : str
        What it is, in half a line.
    options : tuple of str
        Its options, of :data:`DEFAULTS`.
    cutoff : {"optional", "required", "never"}
        Whether it has a cutoff.
    empty : {0, 1, "skip"}
        What a query counts by default in which there is nothing to find.
    higher_is_better : bool
        Whether better models have higher values.
    uses_gains : bool
        Whether labels are gains, which are at least 0.
    aliases : tuple of str
        Other names, in lower case without blanks and underscores.
    flavors : mapping of str to dict
        What each flavor changes of the standard options; some also have a rule for ties
        that holds for all metrics.
    """

    what: str
    options: tuple[str, ...]
    cutoff: Literal["optional", "required", "never"] = "optional"
    empty: Empty = 0
    higher_is_better: bool = True
    uses_gains: bool = False
    aliases: tuple[str, ...] = ()
    flavors: Mapping[str, dict[str, Any]] = field(default_factory=dict)


_GAINS: dict[str, dict[str, Any]] = {
    "letor": {"discount": "letor"},
    "catboost": {"gain": "linear"},
    "sklearn": {"gain": "linear"},
    "trec": {"gain": "linear"},
}
_ONE_IF_EMPTY: dict[str, dict[str, Any]] = {"lightgbm": {"empty": 1}, "xgboost": {"empty": 1}}
_CUT_MAP = {"empty": 1, "norm": "cutoff"}

#: The metrics.
FAMILIES: dict[str, Family] = {
    "ndcg": Family(
        "DCG over that of the best order",
        ("gain", "discount", "ties", "empty", "short"),
        uses_gains=True,
        flavors={
            **_GAINS,
            **_ONE_IF_EMPTY,
            "letor": {"discount": "letor", "short": "zero"},
            "catboost": {"gain": "linear", "empty": 1},
        },
    ),
    "dcg": Family(
        "sum of gain times discount",
        ("gain", "discount", "ties", "empty", "short"),
        uses_gains=True,
        flavors=_GAINS,
    ),
    "mean_ndcg": Family(
        "mean of NDCG@k over k = 1 ... rows of the query",
        ("gain", "discount", "ties", "empty"),
        "never",
        uses_gains=True,
        flavors={**_GAINS, **_ONE_IF_EMPTY},
    ),
    "map": Family(
        "mean precision at the ranks of relevant rows",
        ("rel", "ties", "empty", "norm"),
        aliases=("ap", "averageprecision", "meanaverageprecision"),
        flavors={
            "lightgbm": _CUT_MAP,
            "xgboost": _CUT_MAP,
            "catboost": {"norm": "cutoff"},
            "sklearn": {"ties": "threshold"},
        },
    ),
    "mrr": Family(
        "1 / rank of the first relevant row, 0 beyond the cutoff",
        ("rel", "ties", "empty"),
        aliases=("rr", "reciprank", "reciprocalrank", "meanreciprocalrank"),
    ),
    "precision": Family(
        "share of relevant rows among the first k",
        ("rel", "ties", "empty", "short"),
        "required",
        aliases=("p", "pre", "prec"),
        flavors={"xgboost": {"short": "cut"}, "catboost": {"short": "cut"}},
    ),
    "recall": Family(
        "share of the relevant rows that are among the first k",
        ("rel", "ties", "empty"),
        "required",
        aliases=("r",),
        flavors={"catboost": {"empty": 1}},
    ),
    "err": Family(
        "expected reciprocal rank at which a reader stops",
        ("ties", "empty", "max_label"),
        uses_gains=True,
        aliases=("expectedreciprocalrank",),
    ),
    "auc": Family(
        "share of pairs (relevant, not relevant) in the right order; ties half",
        ("rel", "empty"),
        "never",
        "skip",
        aliases=("rocauc",),
    ),
    "pairwise_error": Family(
        "share of pairs with different labels in the wrong order; ties half",
        ("empty", "weighting"),
        "never",
        "skip",
        higher_is_better=False,
    ),
    "kendall": Family(
        "Kendall's tau-b; 0 for constant scores",
        ("empty",),
        "never",
        "skip",
        aliases=("kendalltau", "tau", "taub", "kendalltaub"),
    ),
    "hit": Family(
        "1 if a relevant row is among the first k, else 0",
        ("rel", "ties", "empty"),
        "required",
        aliases=("hits", "hitrate", "hr", "success"),
    ),
    "r_precision": Family(
        "share of relevant rows among as many first ranks as there are relevant rows",
        ("rel", "ties", "empty"),
        "never",
        aliases=("rprec",),
    ),
    "rbp": Family(
        "rank-biased precision: relevant ranks by (1 - p) p**(rank - 1)",
        ("rel", "ties", "empty", "p"),
        aliases=("rankbiasedprecision",),
    ),
    "spearman": Family(
        "Spearman's rank correlation, ties by mean ranks; 0 for constant scores",
        ("empty",),
        "never",
        "skip",
        aliases=("spearmanr", "rho"),
    ),
}


def flavor_changes(flavor: str) -> dict[str, dict[str, Any]]:
    """Return what a flavor changes of ``standard``, per metric.

    Examples
    --------
    >>> flavor_changes("xgboost")["precision"]
    {'short': 'cut'}
    """
    ties = {"catboost": "pessimistic", "sklearn": "average", "trec": "docid"}.get(flavor)
    found = {}
    for name, family in FAMILIES.items():
        rule = {"ties": ties} if ties is not None and "ties" in family.options else {}
        changes = {**rule, **family.flavors.get(flavor, {})}
        if changes:
            found[name] = changes
    return found
