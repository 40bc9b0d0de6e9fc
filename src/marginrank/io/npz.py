"""``.npz``: all of a RankingData in numpy's own container, without pickle."""

from __future__ import annotations

import math
import struct
import tokenize
import zipfile
import zlib
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank.data import RankingData, check_data
from marginrank.data.matrices import is_sparse
from marginrank.exceptions import MarginRankError, shown
from marginrank.io.destinations import Destination, open_for_writing
from marginrank.io.sources import Source, allowed_bytes, read_source, too_large
from marginrank.storage.text_arrays import pack_texts, unpack_texts

_FORMAT = "marginrank.RankingData 1"
_PLAIN = ("y", "sample_weight", "query_weight", "pairs", "pair_weight", "pair_margin")


# What zipfile and numpy raise for bytes that are not what they should be.
_DAMAGE: tuple[type[Exception], ...] = (
    *(ValueError, OSError, EOFError, KeyError, NotImplementedError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
    # Of headers, which numpy parses as Python.
    *(tokenize.TokenError, TypeError, OverflowError, RecursionError),
)


def dump_npz(data: RankingData, destination: Destination) -> None:
    """Write all of the data: features, labels, ids, weights, pairs, names and comments.

    The ids must be numbers, dates or strings, because nothing is pickled. Data on disk are read into memory.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> dump_npz(RankingData([[1.0], [2.0]], y=[0, 1], qid=["a", "a"], sample_weight=[1, 3]), file)
    >>> load_npz(file.getvalue()).sample_weight
    array([1., 3.])
    """
    check_data(data)
    data = data.in_memory()
    arrays: dict[str, Any] = {"format": np.array(_FORMAT), "allow_nonfinite": np.array(data.allow_nonfinite)}
    arrays |= _features(data.X)
    arrays |= {name: values for name in _PLAIN if (values := getattr(data, name)) is not None}
    if data.qid is not None:
        arrays |= _packed("qid", data.qid)
    for name in ("comments", "feature_names"):
        if (texts := getattr(data, name)) is not None:
            arrays |= _packed(name, np.fromiter(texts, dtype=object, count=len(texts)))
    memory = BytesIO()  # savez seeks, which not every destination can
    np.savez(memory, allow_pickle=False, **arrays)
    with open_for_writing(destination) as file:
        file.write(memory.getbuffer())


def load_npz(source: Source, *, max_expansion: float = 200) -> RankingData:
    """Read what :func:`dump_npz` wrote. Nothing is unpickled, so a file cannot run code.

    Parameters
    ----------
    source : path, binary file object or bytes
        The file.
    max_expansion : float, default=200
        The most that compressed arrays may expand, as a multiple of the size of the file; 16 MiB are always
        allowed.

    Examples
    --------
    >>> file = BytesIO()
    >>> dump_npz(RankingData([[1.0], [2.0]], y=[0, 1]), file)
    >>> load_npz(file.getvalue())
    RankingData(n_rows=2, n_features=1, n_queries=1, dense float64)
    """
    raw, name = read_source(source, max_expansion=max_expansion)
    if not raw.startswith(b"PK"):  # numpy would advise to unpickle it
        got = "one array" if raw.startswith(b"\x93NUMPY") else "something else"
        raise MarginRankError(f"{name}: expected an .npz of RankingData, got {got}.")
    try:
        with zipfile.ZipFile(BytesIO(raw)) as members:
            # What the directory says is what is unpacked at most, so this is known before anything is.
            n_bytes = sum(member.file_size for member in members.infolist())
            if n_bytes > allowed_bytes(len(raw), max_expansion):
                raise too_large(name, "arrays", max_expansion)
            _check_sizes(members)
        with np.load(BytesIO(raw), allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
    except MarginRankError:
        raise
    except _DAMAGE as error:
        raise MarginRankError(
            f"{name}: expected an .npz of RankingData, got damaged data ({error})."
        ) from None
    if str(arrays.get("format")) != _FORMAT:
        raise MarginRankError(f"{name}: expected an .npz that dump_npz wrote, got arrays {sorted(arrays)}.")
    try:
        return _build(arrays)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise MarginRankError(f"{name}: the arrays do not fit together: {error}") from error


def _check_sizes(members: zipfile.ZipFile) -> None:
    """Refuse an array whose header asks for more memory than there is content for it."""
    for member in members.infolist():
        with members.open(member) as file:
            first = np.lib.format.read_magic(file) == (1, 0)
            header = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
            shape, _, dtype = header(file)
            if math.prod(shape) * dtype.itemsize > member.file_size:
                raise ValueError(f"{member.filename} is shorter than it says")


def _features(X: Any) -> dict[str, Any]:
    if not is_sparse(X):
        return {"X": X}
    return {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": np.array(X.shape)}


def _build(arrays: dict[str, NDArray[Any]]) -> RankingData:
    if "X" in arrays:
        X: Any = arrays["X"]
    else:
        shape: Any = tuple(int(n) for n in arrays["X_shape"])
        X = sparse.csr_matrix((arrays["X_data"], arrays["X_indices"], arrays["X_indptr"]), shape=shape)
    return RankingData(
        X,
        qid=_unpacked("qid", arrays),
        comments=_unpacked("comments", arrays),
        feature_names=_unpacked("feature_names", arrays),
        allow_nonfinite=bool(arrays["allow_nonfinite"]),
        **{name: arrays[name] for name in _PLAIN if name in arrays},
    )


def _packed(name: str, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return an array as arrays without objects: strings of any length become bytes and their offsets."""
    if values.dtype.kind != "O":
        return {name: values}
    texts = values.tolist()
    for value in texts:
        if not isinstance(value, str):
            raise MarginRankError(
                f".npz files hold ids that are numbers, dates or strings; got {shown(value)} in {name}. "
                "Turn them into strings first."
            )
    text, ends = pack_texts(texts)
    return {f"{name}_text": text, f"{name}_ends": ends}


def _unpacked(name: str, arrays: dict[str, NDArray[Any]]) -> NDArray[Any] | None:
    if f"{name}_ends" not in arrays:
        return arrays.get(name)
    return unpack_texts(arrays[f"{name}_text"], arrays[f"{name}_ends"], name)
