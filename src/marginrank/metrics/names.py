"""Names of metrics, as people write them, and the flavors that decide what they leave open."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from marginrank.exceptions import MarginRankError, ParameterError, shown, warn
from marginrank.gains import GainTable
from marginrank.metrics.families import CHOICES, FAMILIES, FLAVOR_NAMES, flavor_changes
from marginrank.metrics.metric import OPTIONS, Metric, standard_value
from marginrank.parameters import as_list, check_choice

_ALIASES = {alias: name for name, family in FAMILIES.items() for alias in family.aliases} | {
    name.replace("_", ""): name for name in FAMILIES
}
#: What each flavor changes of ``standard``, per metric.
FLAVORS: dict[str, dict[str, dict[str, Any]]] = {flavor: flavor_changes(flavor) for flavor in FLAVOR_NAMES}

_NAME = re.compile(r"\s*([A-Za-z][A-Za-z_ -]*?)\s*(?:\((.*?)\))?\s*(?:@\s*([^()\s]*))?\s*(?:\((.*?)\))?\s*")


def check_flavor(flavor: str) -> str:
    """Return the flavor if there is one of that name."""
    check_choice("flavor", flavor, FLAVORS)
    return flavor


def flavor_defaults(name: str, flavor: str) -> dict[str, Any]:
    """Return the value of every option of a metric in a flavor; None where the metric does not have it."""
    standard = {option: standard_value(name, option) for option in OPTIONS}
    return standard | FLAVORS[check_flavor(flavor)].get(name, {})


def parse_metric(text: str | Metric, *, flavor: str = "standard") -> Metric:
    """Return the metric that a name describes: ``name@cutoff`` or ``name(option=value,...)@cutoff``.

    Parameters
    ----------
    text : str or Metric
        In any case, with or without underscores; ``AP`` and ``RR`` are ``map`` and ``mrr``, ``P`` is
        ``precision``. A ``-`` at the end, as in ``ndcg@10-``, is ``empty=0``. A metric is returned as it is.
    flavor : {"standard", "letor", "lightgbm", "xgboost", "catboost", "sklearn", "trec"}, default="standard"
        The tool whose conventions hold where the name leaves them open.

    Returns
    -------
    Metric
        Hashable; ``str`` of it is its canonical name, which gives the same metric again.

    Examples
    --------
    >>> str(parse_metric("nDCG@10")), str(parse_metric("AP(rel=2)@100"))
    ('ndcg@10', 'map(rel=2)@100')
    >>> str(parse_metric("ndcg@10", flavor="sklearn"))
    'ndcg(gain=linear,ties=average)@10'
    """
    check_flavor(flavor)
    if isinstance(text, Metric):
        return text
    if not isinstance(text, str):
        raise MarginRankError(f"A metric is a name, such as 'ndcg@10'; got {shown(text)}.")
    return _read(text, flavor, shown(text))


def _read(written: str, flavor: str, text: str) -> Metric:
    """Return the metric of a name; messages show the name as ``text``."""
    # XGBoost's way to say that queries without anything to find count 0.
    lean = written.rstrip().endswith("-")
    match = _NAME.fullmatch(written.rstrip()[:-1] if lean else written)
    if match is None or (match[2] is not None and match[4] is not None):
        meant = re.fullmatch(r"([A-Za-z_ -]+?)(\d+)", written)
        if meant is not None and _plain(meant[1]) in _ALIASES:
            raise MarginRankError(f"Cannot read the metric {text}; did you mean '{meant[1]}@{meant[2]}'?")
        raise MarginRankError(
            f"Cannot read the metric {text}; write name@cutoff or name(option=value)@cutoff, "
            "such as 'ndcg@10' or 'map(rel=2)@100'."
        )
    name = _known_name(match[1], text)
    given = _options(match[2] if match[2] is not None else match[4], name, text)
    if lean and "empty" in given:
        raise MarginRankError(
            f"{text} says twice what empty queries count: by empty= and by the '-' at its end."
        )
    given = {**given, "empty": 0} if lean else given
    cutoff = None if match[3] is None else _cutoff(match[3], text)
    defaults = {option: v for option, v in flavor_defaults(name, flavor).items() if v is not None}
    return Metric(name, cutoff=cutoff, **(defaults | given))


def spell_metric(metric: Metric, flavor: str) -> str:
    """Return the name of a metric among people who use this flavor."""
    return metric.spell(flavor_defaults(metric.name, flavor))


def parse_metrics(metrics: Any, flavor: str, parameter: str = "metrics") -> dict[str, Metric]:
    """Return metrics by their names in this flavor, each once, in the order given.

    Messages call the list by the parameter that it was given as. Two names of one metric are warned of: the
    figure that is missed is there under the other one.
    """
    listed = [metrics] if isinstance(metrics, str | Metric) else as_list(metrics)
    if listed is None or not all(isinstance(metric, str | Metric) for metric in listed):
        raise ParameterError(parameter, "a list of names, such as ['ndcg@10']", metrics)
    parsed = [
        metric if isinstance(metric, Metric) else _read(metric, flavor, f"{shown(metric)} of {parameter}")
        for metric in listed
    ]
    if not parsed:
        raise MarginRankError(f"{parameter} must name at least one metric, such as 'ndcg@10'; got none.")
    found: dict[str, Metric] = {}
    first: dict[str, str] = {}
    for written, metric in zip(listed, parsed, strict=True):
        name = spell_metric(metric, flavor)
        found[name] = metric
        if isinstance(written, str) and written != first.setdefault(name, written):
            why = " (there, queries without anything to find count 0 anyway)" if "-" in written[-1:] else ""
            warn(
                f"{shown(first[name])} and {shown(written)} are one metric in the flavor {flavor}{why}; "
                f"it is measured once, as {name!r}.",
                UserWarning,
            )
    return found


def _plain(name: str) -> str:
    return re.sub(r"[_ -]", "", name).lower()


def _known_name(written: str, text: str) -> str:
    plain = _plain(written)
    if plain in _ALIASES:
        return _ALIASES[plain]
    close = get_close_matches(plain, _ALIASES, n=1, cutoff=0.6)
    hint = f"did you mean {_ALIASES[close[0]]!r}? Known" if close else "known"
    raise MarginRankError(f"Unknown metric {text}; {hint} are {', '.join(FAMILIES)}.")


def _cutoff(written: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", written) or int(written) < 1:
        raise MarginRankError(
            f"The cutoff of {text} must be an integer of at least 1, as in 'ndcg@10'; got {shown(written)}."
        )
    return int(written)


def _options(written: str | None, name: str, text: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for part in (written or "").split(","):
        if not part.strip():
            continue
        option, equals, value = (piece.strip() for piece in part.partition("="))
        option = option.lower()
        if not equals or option not in FAMILIES[name].options:
            known = ", ".join(FAMILIES[name].options)
            raise MarginRankError(
                f"Cannot read {shown(part.strip())} in {text}; {name} has the options {known}."
            )
        if option in options:
            raise MarginRankError(f"{option} is given twice in {text}.")
        options[option] = _value(option, value, text)
    return options


def _value(option: str, written: str, text: str) -> Any:
    if option == "gain" and ":" in written:
        return GainTable.parse(written)
    if option == "rel" and written.lower() == "all":
        return "all"
    for choice in CHOICES.get(option, ()):
        if str(choice) == written.lower():
            return choice
    if option in CHOICES:
        known = ", ".join(str(choice) for choice in CHOICES[option])
        raise MarginRankError(f"{option} must be one of {known}; got {shown(written)} in {text}.")
    try:
        return float(written)
    except ValueError:
        raise MarginRankError(f"{option} must be a number; got {shown(written)} in {text}.") from None
