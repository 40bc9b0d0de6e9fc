"""A model into the file of a target."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, get_args

from marginrank.exceptions import MarginRankError, ModelFileError, ParameterError, shown_path
from marginrank.export.base import ExportedModel, Normalizers, Options, Target, Written
from marginrank.export.checking import CheckedRows, ExportCheck, check_export
from marginrank.export.float32_loss import Float32Loss, estimated_loss, measured_loss, warn_of_loss
from marginrank.export.registry import TARGETS
from marginrank.parameters import as_list, check_choice, check_path
from marginrank.system.atomic_write import atomic_write

_CHOICES = {"normalizers": get_args(Normalizers), "dtype": ("float64", "float32")}


@dataclass(frozen=True)
class Export:
    """What was written.

    Parameters
    ----------
    target : str
        Where the model goes.
    files : tuple of str
        The files that were written, the model first; none where it went to a file object.
    features : tuple of str
        The columns that the target has to supply, by its names; columns of weight 0 are left out.
    commands : tuple of str
        What to run to upload or to use it.
    check : ExportCheck or None
        How the scores differ on the data of ``check``.
    float32 : Float32Loss or None
        What the target's float32 takes from differences of scores: likely or measured, and at most. None for
        targets of float64, and where the model knows nothing of its columns.

    Examples
    --------
    >>> import io
    >>> from marginrank import RankingModel
    >>> found = RankingModel([0.5, 0.0], feature_names=["bm25", "views"]).export("sql", io.BytesIO())
    >>> found.target, found.files, found.features
    ('sql', (), ('bm25',))
    """

    target: str
    files: tuple[str, ...]
    features: tuple[str, ...]
    commands: tuple[str, ...]
    check: ExportCheck | None
    float32: Float32Loss | None = None


def export_model(
    model: ExportedModel,
    target: str,
    file: str | os.PathLike[str] | IO[bytes],
    *,
    names: Any = None,
    model_name: str | None = None,
    feature_set: str | None = None,
    normalizers: Normalizers | None = None,
    table: str | None = None,
    qid_column: str | None = None,
    dtype: str | None = None,
    rows: CheckedRows | None = None,
) -> Export:
    """Write a model to the file of a target; ``RankingModel.export`` has the parameters.

    Examples
    --------
    >>> import io
    >>> from marginrank import RankingModel
    >>> export_model(RankingModel([0.5, -2.0], feature_names=["bm25", "age"]), "sql", io.BytesIO()).features
    ('bm25', 'age')
    """
    check_choice("target", target, TARGETS)
    found = TARGETS[target]
    given: dict[str, Any] = {"feature_set": feature_set, "normalizers": normalizers, "table": table}
    given = _checked_options(found, {**given, "qid_column": qid_column, "dtype": dtype})
    path = None if not isinstance(file, str | os.PathLike) else check_path(file, "file")
    if path is None and not callable(getattr(file, "write", None)):
        raise ParameterError("file", "a path or a binary file object", file)
    if model_name is None:
        model_name = (Path(path).name.split(".")[0] if path else "") or "model"
    options = Options(
        names=column_names(names, model.feature_names, model.n_features),
        model_name=_check_name(model_name, "model_name"),
        **given,
    )
    _check_held(found, model)
    written = found.write(model, options)
    check = None if rows is None else check_export(found, written.content, options, rows)
    loss = None
    if found.float32(options):
        if rows is None or check is None:
            loss = estimated_loss(found, written.content, options, model)
        else:
            loss = measured_loss(found, options, model, rows, check)
        if loss is not None:
            warn_of_loss(loss, options.names, found.title)
    files = _write(written, path, file)
    return Export(
        target=target,
        files=tuple(files.values()),
        features=tuple(options.names[j] for j in written.features),
        commands=tuple(_command(command, files) for command in written.commands),
        check=check,
        float32=loss,
    )


def column_names(names: Any, own: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    """Return what the columns are called in an export: as the user says, as in the model, or by number.

    Examples
    --------
    >>> column_names(None, None, 2), column_names({"a": "bm25(title)"}, ("a", "b"), 2)
    (('f1', 'f2'), ('bm25(title)', 'b'))
    """
    current = tuple(own) if own is not None else tuple(f"f{j + 1}" for j in range(n_features))
    new = current
    if isinstance(names, Mapping):
        unknown = [name for name in names if name not in current]
        if unknown:
            raise ParameterError("names", "a mapping from names of the model's columns", unknown[0])
        new = tuple(names.get(name, name) for name in current)
    elif names is not None:
        listed = as_list(names)
        if listed is None or len(listed) != n_features:
            these = "" if listed is None else f"These are {len(listed)}."
            what = f"{n_features} names, or a mapping from old to new ones"
            raise ParameterError("names", what, names, these)
        new = tuple(listed)
    for name in new:
        if not isinstance(name, str) or not name or not name.isprintable():
            raise MarginRankError.saying(
                "Columns of an export have names that are printable and not empty; got {name!r}.",
                "Set {names}.",
                name=name,
            )
    if len(set(new)) != n_features:
        raise ParameterError("names", "different names", names)
    return tuple(map(str, new))


def _check_held(target: Target, model: ExportedModel) -> None:
    """Refuse a model that a target cannot hold, and say what can."""
    if model.mapping is not None and not target.holds_kernels:
        raise MarginRankError.saying(
            "{title!s} has one weight for each column, and cannot hold a model with a feature map, as of a "
            "kernel.",
            _holders("holds_kernels"),
            "A linear ranker, such as RankSVM, can be exported.",
            title=target.title,
        )
    if model.query_normalization is not None and not target.holds_query_normalization:
        raise MarginRankError.saying(
            "{title!s} cannot hold a model that normalises columns within each query, which is no fixed map "
            "of a column.",
            _holders("holds_query_normalization"),
            "A ranker that was trained on raw columns, with scales of columns, can be exported.",
            title=target.title,
        )


def _holders(what: str) -> str:
    able = [f"{{target={one.name!r}}}" for one in TARGETS.values() if getattr(one, what)]
    return f"Export it with {' or '.join(able)}."


def _checked_options(target: Target, given: dict[str, Any]) -> dict[str, Any]:
    for name, value in given.items():
        if value is None:
            continue
        if name not in target.takes:
            having = ", ".join(other.name for other in TARGETS.values() if name in other.takes)
            raise MarginRankError.saying(
                f"{{{name}}} is not for {{target={target.name!r}}}; these take it: {{having!s}}.",
                having=having,
            )
        if name in _CHOICES:
            check_choice(name, value, _CHOICES[name])
        else:
            _check_name(value, name)
    return given


def _check_name(value: Any, parameter: str) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ParameterError(parameter, "a name, printable and not empty", value)
    return value


def _write(written: Written, path: str | None, file: Any) -> dict[str, str]:
    """Write all files, and return them by what commands call them."""
    if path is None:
        try:
            file.write(written.content)
        except TypeError:
            raise ModelFileError("An export is bytes; open the file in binary mode ('wb').") from None
        return {}
    stem = path.removesuffix(Path(path).suffix)
    files = {"model": path, **{ending: stem + ending for ending, _ in written.companions}}
    contents = [written.content, *(content for _, content in written.companions)]
    for one, content in zip(files.values(), contents, strict=True):
        try:
            with atomic_write(one) as destination:
                destination.write(content)
        except OSError as error:
            raise ModelFileError(
                f"Cannot write the export to the file {shown_path(one)}: {error.strerror or error}."
            ) from error
    return files


def _command(command: str, files: Mapping[str, str]) -> str:
    """Return a command with the files in it, quoted for a shell; words in braces stay without a file."""
    for name, path in files.items():
        command = command.replace(f"{{{name}}}", shlex.quote(path))
    return command
