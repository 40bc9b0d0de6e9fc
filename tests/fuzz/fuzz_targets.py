"""What fuzzing calls: inputs to begin with, a way to change them, and a call that takes any bytes.

The call returns, or raises a MarginRankError that is one sentence: anything else is a fault of the library.
Checksums are made anew for whatever a file holds, so that changes get behind them.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from fuzz_changes import changed_bytes, changed_json
from scipy.sparse import csr_array

from marginrank import (
    KernelRankSVM,
    RankingData,
    RankingModel,
    RankSVM,
    dump_letor,
    open_dataset,
    write_dataset,
)
from marginrank.distributed.journal import Journal
from marginrank.distributed.journal_records import MAGIC as JOURNAL_MAGIC
from marginrank.distributed.journal_records import pack
from marginrank.exceptions import MarginRankError
from marginrank.io import dump_npz, read
from marginrank.model.file_format import MAGIC as MODEL_MAGIC
from marginrank.storage.dataset_manifest import sealed

Change = Callable[[bytes, list[bytes], Random], bytes]


@dataclass(frozen=True)
class Target:
    """Inputs to begin with, how to change them, and what to call with them."""

    seeds: Callable[[], list[bytes]]
    call: Callable[[bytes], None]
    change: Change = changed_bytes


def outcome(target: Target, data: bytes) -> str:
    """Call a target with any bytes; return "accepted", or the sentence that refused them, without numbers."""
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target.call(data)
        except MarginRankError as error:
            text = str(error).strip()
            assert text, "expected a sentence, got nothing"
            assert "\n" not in text, f"expected one sentence, got {text!r}"
            return re.sub(r"[0-9]+|'[^']*'|\"[^\"]*\"", "_", text)[:80]
    return "accepted"


# Model files: length of the header, header, arrays; the checksum is made anew


def _models() -> list[bytes]:
    random = np.random.default_rng(0)
    X, y, qid = random.normal(size=(30, 3)), random.integers(0, 3, 30), np.arange(30) // 6
    models = [
        RankSVM(scale="standard").fit(X, y, qid=qid).to_model(),
        KernelRankSVM(n_components=4, random_state=0).fit(X, y, qid=qid).to_model(),
        RankingModel([0.5, 0.0, -1.0], feature_names=["a", "b", "Größe"], query_normalization="minmax"),
    ]
    bodies = []
    for model in models:
        file = io.BytesIO()
        model.save(file)
        bodies.append(file.getvalue()[len(MODEL_MAGIC) + 32 :])
    return bodies


def _change_model(data: bytes, others: list[bytes], random: Random) -> bytes:
    size = int.from_bytes(data[:8], "little")
    if random.random() < 0.5 or size > len(data) - 8:
        return changed_bytes(data, others, random)
    try:
        header = changed_json(json.loads(data[8 : 8 + size]), random)
    except (ValueError, RecursionError):
        return changed_bytes(data, others, random)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + size :]


def _load_model(data: bytes) -> None:
    model = RankingModel.load(io.BytesIO(MODEL_MAGIC + hashlib.sha256(data).digest() + data))
    scores = model.predict(np.zeros((3, model.n_features)), **_queries_of(model))
    assert np.isfinite(scores).all(), "a score is not finite"
    model.save(io.BytesIO())
    repr(model)


def _queries_of(model: RankingModel) -> dict[str, list[int]]:
    return {} if model.query_normalization is None else {"qid": [1, 1, 2]}


# Data sets on disk: the manifest, and a chunk with its sizes and checksums in the manifest made to fit


class _Folder:
    """A data set that one file after another is replaced of; dense or sparse."""

    def __init__(self, *, sparse: bool) -> None:
        self._holder = tempfile.TemporaryDirectory()
        self.path = Path(self._holder.name) / "data.mrd"
        random = np.random.default_rng(1)
        X = random.normal(size=(24, 3)) * (random.random((24, 3)) < 0.6)
        y, qid = random.integers(0, 3, 24), np.repeat(np.arange(6), 4)
        data = RankingData(csr_array(X) if sparse else X, y, qid=qid)
        write_dataset(self.path, data, chunk_rows=8)
        self.manifest = json.loads((self.path / "manifest.json").read_text())
        self.manifest.pop("sha256")
        self.name = self.manifest["chunks"][0]["file"]
        self.chunk = (self.path / self.name).read_bytes()

    def use(self, manifest: bytes, chunk: bytes) -> None:
        (self.path / "manifest.json").write_bytes(manifest)
        (self.path / self.name).write_bytes(chunk)
        data = open_dataset(self.path)
        data.verify()
        model = RankSVM(max_iter=2).fit(data)
        assert np.isfinite(model.coef_).all(), "a coefficient is not finite"

    def manifest_of(self, chunk: bytes) -> bytes:
        """Return the manifest with size and checksums of another first chunk."""
        content = json.loads(json.dumps(self.manifest))
        entry = content["chunks"][0]
        entry["bytes"], entry["sha256"] = len(chunk), hashlib.sha256(chunk).hexdigest()
        for name in entry["seals"]:
            dtype, shape, offset = entry["arrays"][name]
            part = chunk[offset : offset + int(np.prod(shape)) * np.dtype(dtype).itemsize]
            entry["seals"][name] = hashlib.sha256(part).hexdigest()
        return sealed(content)


_FOLDERS: dict[bool, _Folder] = {}


def _folder(sparse: bool) -> _Folder:
    if sparse not in _FOLDERS:
        _FOLDERS[sparse] = _Folder(sparse=sparse)
    return _FOLDERS[sparse]


def _open_manifest(data: bytes) -> None:
    folder = _folder(data[:1] == b"s")
    try:
        content = json.loads(data[1:].decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        content = None
    whole = sealed(content) if isinstance(content, dict) and content else data[1:]
    folder.use(whole, folder.chunk)


def _change_manifest(data: bytes, others: list[bytes], random: Random) -> bytes:
    try:
        content = json.loads(data[1:].decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        content = None
    if content is None or random.random() < 0.2:
        return data[:1] + changed_bytes(data[1:], others, random)
    text = json.dumps(changed_json(content, random), ensure_ascii=False)
    return data[:1] + text.encode("utf-8", "surrogatepass")


def _open_chunk(data: bytes) -> None:
    folder = _folder(data[:1] == b"s")
    folder.use(folder.manifest_of(data[1:]), data[1:])


def _chunk_seeds() -> list[bytes]:
    return [b"d" + _folder(False).chunk, b"s" + _folder(True).chunk]


# Journals: a record after the header, its lengths and checksum made anew


def _record_seeds() -> list[bytes]:
    answers = [np.arange(3.0), [np.array([1, 2]), (np.array([0.5]), None)]]
    return [pack({"number": 1, "inputs": "q"}, answer)[:-32] for answer in answers]


def _change_record(data: bytes, others: list[bytes], random: Random) -> bytes:
    size = int.from_bytes(data[:8], "little")
    try:
        content = changed_json(json.loads(data[16 : 16 + size]), random)
    except (ValueError, RecursionError):
        return changed_bytes(data, others, random)
    text, body = json.dumps(content).encode(), data[16 + size :]
    if random.random() < 0.3:
        body = changed_bytes(body, others, random)
    return len(text).to_bytes(8, "little") + len(body).to_bytes(8, "little") + text + body


def _resume(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        start = JOURNAL_MAGIC + pack({"header": {"a": 1}})
        path.write_bytes(start + data + hashlib.sha256(data).digest())
        journal = Journal(path, {"a": 1}, resume=True)
        try:
            for _ in range(3):
                journal.answer("q", lambda: [np.zeros(1)])
        finally:
            journal.close()


# Text and arrays, as users have them


def _texts() -> list[bytes]:
    return [
        b"1 qid:ab 1:0.5 3:-1e-5 #docid = x\r\n0 qid:ab 2:1\n2.5 qid:7 1:3 # c\n1 qid:7 1:1\n",
        b"0 1:1 2:2\n1 1:2\n2 3:1\n",
    ]


def _read_text(data: bytes) -> None:
    found = read(data, format="letor")
    assert found.n_rows >= 1
    dump_letor(found, io.BytesIO())


def _archive() -> dict[str, bytes]:
    file = io.BytesIO()
    dump_npz(RankingData(np.arange(12.0).reshape(4, 3), [0, 1, 2, 1], qid=["a", "a", "b", "b"]), file)
    with zipfile.ZipFile(file) as members:
        return {name: members.read(name) for name in sorted(members.namelist())}


def _arrays() -> list[bytes]:
    return [bytes([k]) + content for k, content in enumerate(_archive().values())]


def _read_arrays(data: bytes) -> None:
    members = _archive()
    members[list(members)[data[0] % len(members) if data else 0]] = data[1:]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    read(packed.getvalue(), format="npz")


def _tables() -> list[bytes]:
    return [b"label,qid,a,b\n1,q1,0.5,2\n0,q1,1,3\n2,q2,0,1\n1,q2,-1e-5,\n", b"a;b;label\n1;2;0\n2;3;1\n"]


def _read_table(data: bytes) -> None:
    read(data, format="csv")


def _manifest_seeds() -> list[bytes]:
    return [kind + json.dumps(_folder(kind == b"s").manifest).encode() for kind in (b"d", b"s")]


def _change_after_kind(data: bytes, others: list[bytes], random: Random) -> bytes:
    return data[:1] + changed_bytes(data[1:], others, random)


TARGETS: dict[str, Target] = {
    "model_file": Target(_models, _load_model, _change_model),
    "manifest": Target(_manifest_seeds, _open_manifest, _change_manifest),
    "chunk": Target(_chunk_seeds, _open_chunk, _change_after_kind),
    "journal": Target(_record_seeds, _resume, _change_record),
    "letor_text": Target(_texts, _read_text),
    "npz": Target(_arrays, _read_arrays, _change_after_kind),
    "csv": Target(_tables, _read_table),
}
