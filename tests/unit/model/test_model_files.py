"""A model file gives back the model to the last bit, or is refused with a sentence."""

import errno
import hashlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from marginrank import ColumnStatistics, KernelRankSVM, RankingModel, RankSVM
from marginrank.calibration import PairCalibration
from marginrank.exceptions import MarginRankError, ModelFileError
from marginrank.model.file_format import MAGIC, decode, encode
from marginrank.system.atomic_write import atomic_write

VERSION_1 = Path(__file__).parent / "files" / "model-v1.mrk"
VERSION_3 = Path(__file__).parent / "files" / "model-v3.mrk"
VERSION_4 = Path(__file__).parent / "files" / "model-v4.mrk"
VERSION_5 = Path(__file__).parent / "files" / "model-v5.mrk"
# Numbers that a decimal detour or a change of sign, size or byte order would not survive.
COEF = np.array([0.1, -0.0, 5e-324, 1.7976931348623157e308, -1 / 3])
METADATA = {
    "estimator": "RankSVM",
    "parameters": {"alpha": 1e-4, "scale": None},
    "gap": 0.1,
    "n_pairs": 2**60,
}
HEADER_AT = len(MAGIC) + 32 + 8


def full_model():
    return RankingModel(
        COEF,
        intercept=1 / 3,
        feature_names=["a", "b", "Größe", "\U0001f600", "e e"],
        query_normalization="minmax",
        column_scale=[1.0, 2.0, 3.0, 0.5, 1e-300],
        metadata=METADATA,
    )


def file_of(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def refuses(data, message):
    with pytest.raises(ModelFileError, match=message):
        RankingModel.load(io.BytesIO(data))


def forged(header=b"{}", body=b"", n_header=None):
    """Return a file whose checksum is right, whatever is in it."""
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    n_header = len(header) if n_header is None else n_header
    rest = n_header.to_bytes(8, "little") + header + body
    return MAGIC + hashlib.sha256(rest).digest() + rest


def forged_linear(body=bytes(8), **changes):
    coef = {"name": "coef", "dtype": "<f8", "shape": [1], "offset": 0}
    header = {
        "format_version": 1,
        "kind": "linear",
        "intercept": 0.0,
        "feature_names": None,
        "query_normalization": None,
        "metadata": {},
        "arrays": [{**coef, **changes.pop("coef", {})}],
    }
    return forged({**header, **changes}, body)


# There and back


@pytest.mark.parametrize("model", [full_model(), RankingModel([1.5])], ids=["full", "bare"])
@pytest.mark.parametrize("as_path", [str, Path])
def test_load_gives_back_what_was_saved_to_the_last_bit(model, as_path, tmp_path):
    model.save(as_path(tmp_path / "model.mrk"))
    loaded = RankingModel.load(as_path(tmp_path / "model.mrk"))
    assert loaded.coef.tobytes() == model.coef.tobytes()
    assert loaded.coef.dtype == np.float64
    assert loaded.intercept == model.intercept
    assert loaded.feature_names == model.feature_names
    assert loaded.query_normalization == model.query_normalization
    assert (loaded.column_scale is None) == (model.column_scale is None)
    assert loaded.column_scale is None or loaded.column_scale.tobytes() == model.column_scale.tobytes()
    assert loaded.metadata == model.metadata
    assert file_of(loaded) == file_of(model)


def test_same_model_gives_the_same_bytes_in_another_process_and_with_other_threads():
    code = (
        "import sys; from marginrank import RankSVM; "
        "RankSVM(n_jobs=2, verbose=0).fit([[1.0, 2.0], [0.5, 3.0], [2.0, 2.0]], [0, 1, 2])"
        ".to_model().save(sys.stdout.buffer)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment)
    here = RankSVM(n_jobs=1).fit([[1.0, 2.0], [0.5, 3.0], [2.0, 2.0]], [0, 1, 2]).to_model()
    assert other.stdout == file_of(here)


def test_file_objects_need_not_be_able_to_seek():
    class Pipe(io.RawIOBase):
        def __init__(self, data):
            self._rest = io.BytesIO(data)

        def readable(self):
            return True

        def readinto(self, buffer):
            return self._rest.readinto(buffer)

    model = full_model()
    assert file_of(RankingModel.load(Pipe(file_of(model)))) == file_of(model)


def test_arrays_of_the_other_byte_order_are_written_alike():
    big, little = np.array([1.5, -2.0], dtype=">f8"), np.array([1.5, -2.0], dtype="<f8")
    assert encode({}, {"coef": big}) == encode({}, {"coef": little})


def test_a_file_of_version_1_keeps_loading():
    model = RankingModel.load(VERSION_1)
    assert VERSION_1.stat().st_size < 2048
    assert model.feature_names == ("bm25", "Größe", "clicks")
    assert model.coef.tolist() == [0.75, -1 / 3, 1e-5]
    assert model.column_scale.tolist() == [2.0, 0.5, 1000.0]
    assert model.intercept == 0.1
    assert model.query_normalization == "minmax"
    assert model.metadata["estimator"] == "RankSVM"
    assert model.metadata["parameters"] == {"alpha": 0.001, "loss": "hinge", "scale": "standard"}
    X = [[1.0, 4.0, 7.0], [3.0, 2.0, 7.0], [2.0, 4.0, 9.0]]
    expected = [0.1 - 1 / 3, 0.1 + 0.75, 0.1 + 0.375 - 1 / 3 + 1e-5]
    np.testing.assert_allclose(model.predict(X, qid=["q"] * 3), expected, rtol=1e-15)


def measured_model():
    return RankingModel(
        [0.75, -1 / 3],
        feature_names=["bm25", "Größe"],
        column_statistics=ColumnStatistics(
            [-1.0, 0.0], [1e300, 7.0], [1 / 3, 5e-324], [1e299, 2.0], [0.1, 0.0], [0.0, 1 / 3], 12
        ),
        metadata={"estimator": "RankSVM"},
    )


def test_a_file_of_version_5_keeps_loading():
    """It has weights of the columns beside those of kernel values."""
    model = RankingModel.load(VERSION_5)
    assert VERSION_5.read_bytes() == file_of(model)
    assert VERSION_5.stat().st_size < 4096
    assert model.linear_coef.tolist() == [-1 / 3, 1e-5]
    assert model.coef.tolist() == [0.5, 2.0]
    X = np.array([[1.0, 4.0], [0.5, -2.0]])
    Z = model.feature_map.transform(X * [2.0, 0.5])
    np.testing.assert_allclose(model.predict(X), Z @ model.coef + X @ model.linear_coef, rtol=1e-12)


def test_a_file_with_a_linear_block_of_the_wrong_length_is_refused():
    header, arrays = decode(VERSION_5.read_bytes(), "a file")
    arrays["linear_coef"] = np.ones(3)
    refuses(encode(header, arrays), "linear_coef must have one entry per feature; got 3 for 2")


def test_weights_of_columns_without_a_map_are_the_coef():
    with pytest.raises(MarginRankError, match="linear_coef goes with a feature map"):
        RankingModel([1.0], linear_coef=[1.0])


def test_a_file_of_version_3_keeps_loading():
    assert VERSION_3.read_bytes() == file_of(measured_model())
    found = RankingModel.load(VERSION_3).column_statistics
    assert found.low.tolist() == [-1.0, 0.0]
    assert found.high.tolist() == [1e300, 7.0]
    assert found.mean.tolist() == [1 / 3, 5e-324]
    assert found.deviation.tolist() == [1e299, 2.0]
    assert found.within_deviation.tolist() == [0.1, 0.0]
    assert found.zeros.tolist() == [0.0, 1 / 3]
    assert found.n_rows == 12


@pytest.mark.parametrize("estimator", [RankSVM(), KernelRankSVM(n_components=2, linear_block=False)])
def test_statistics_go_to_a_file_and_back(estimator):
    X = np.array([[1.0, 2.0], [0.5, 0.0], [2.0, 2.0], [4.0, 9.0]])
    model = estimator.fit(X, [0, 1, 0, 1], qid=[1, 1, 2, 2]).to_model()
    loaded = RankingModel.load(io.BytesIO(file_of(model)))
    for name in ColumnStatistics.names():
        kept = getattr(estimator.column_statistics_, name)
        assert getattr(loaded.column_statistics, name).tobytes() == kept.tobytes()
    np.testing.assert_allclose(loaded.column_statistics.deviation, X.std(axis=0), rtol=1e-15)
    assert loaded.column_statistics.n_rows == 4
    header, _ = decode(file_of(model), "a file")
    assert header["format_version"] == 3


def wide_model():
    """A model of 1,000 columns, of which three held anything but 0, one of them -0.0 only."""
    held = ColumnStatistics(
        [-1.0, -0.0, 0.0],
        [4.0, -0.0, 7.0],
        [1 / 3, -0.0, 0.5],
        [1.0, 0.0, 2.0],
        [0.5, 0.0, 0.0],
        [0, 1, 0.9],
        5,
    )
    return RankingModel(np.arange(1000.0), column_statistics=held.widened(np.array([0, 30, 999]), 1000))


def test_columns_that_held_nothing_take_no_room_in_a_file():
    model = wide_model()
    assert len(file_of(model)) < 8 * 1000 + 2000
    loaded = RankingModel.load(io.BytesIO(file_of(model)))
    for name in ColumnStatistics.names():
        kept = getattr(model.column_statistics, name)
        assert getattr(loaded.column_statistics, name).tobytes() == kept.tobytes()
    assert file_of(loaded) == file_of(model)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (np.array([0, 30]), "column_statistics has no number for each of its columns"),
        (np.array([0.0, 30.0, 999.0]), "column_statistics has no number for each of its columns"),
        (np.array([0, 30, 1000]), "column_statistics has columns out of order, or beyond"),
        (np.array([-1, 30, 999]), "column_statistics has columns out of order, or beyond"),
        (np.array([30, 0, 999]), "column_statistics has columns out of order, or beyond"),
    ],
)
def test_statistics_of_columns_that_a_model_does_not_have_are_refused(columns, message):
    header, arrays = decode(file_of(wide_model()), "a file")
    refuses(encode(header, {**arrays, "column_statistics.columns": columns}), message)


def test_a_model_without_statistics_is_written_as_before():
    assert decode(file_of(full_model()), "a file")[0]["format_version"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"column_statistics": {"n_rows": "4"}}, "column_statistics has no number of rows"),
        ({"column_statistics": 3}, "column_statistics has no number of rows"),
        ({"column_statistics": {"n_rows": 4}}, "'column_statistics.low' is missing"),
    ],
)
def test_statistics_that_are_not_sound_are_refused(change, message):
    refuses(forged_linear(format_version=3, **change), message)


def calibrated_model():
    return RankingModel([1.0], calibration=PairCalibration([0.1, 1 / 3], [0.5, 0.9], 77))


def test_a_file_of_version_4_gives_back_the_probabilities():
    assert VERSION_4.read_bytes() == file_of(calibrated_model())
    found = RankingModel.load(VERSION_4)
    assert found.calibration.differences.tolist() == [0.1, 1 / 3]
    assert found.calibration.probabilities.tolist() == [0.5, 0.9]
    assert found.calibration.n_pairs == 77


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"calibration": 3}, "calibration has no number of pairs"),
        ({"calibration": {"n_pairs": "4"}}, "calibration has no number of pairs"),
        ({"calibration": {"n_pairs": 4}}, "'calibration.differences' is missing"),
    ],
)
def test_probabilities_that_are_not_sound_are_refused(change, message):
    refuses(forged_linear(format_version=4, **change), message)


@pytest.mark.parametrize(
    ("differences", "probabilities", "message"),
    [
        ([0.0, 1.0], [0.5, 0.6], "differences must be positive and ascending"),
        ([1.0, 1.0], [0.5, 0.6], "differences must be positive and ascending"),
        ([1.0], [0.5, 0.6], "differences and probabilities must have as many entries"),
        ([1.0, 2.0], [0.4, 0.6], "from 0.5 to 1 and never fall"),
        ([1.0, 2.0], [0.7, 0.6], "from 0.5 to 1 and never fall"),
        ([1.0, 2.0], [0.7, 1.1], "from 0.5 to 1 and never fall"),
    ],
)
def test_functions_that_are_no_probabilities_are_refused(differences, probabilities, message):
    with pytest.raises(MarginRankError, match=message):
        PairCalibration(differences, probabilities, 4)


# Damage


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_every_flipped_byte_is_refused_with_a_sentence(flip):
    data = file_of(full_model())
    for k in range(len(data)):
        damaged = bytearray(data)
        damaged[k] ^= flip
        refuses(
            bytes(damaged), r"^The file is (not a marginrank model, or its start is damaged|damaged).*\.$"
        )


def test_every_flipped_bit_of_the_fixture_is_refused():
    data = VERSION_1.read_bytes()
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        refuses(bytes(damaged), "damaged")


def test_every_cut_is_refused_with_a_sentence():
    data = file_of(full_model())
    for length in range(len(data)):
        refuses(data[:length], r"^The file is (empty|not a marginrank model|cut short|damaged).*\.$")


@pytest.mark.parametrize("more", [b"\0", b" ", b"\n", bytes(8)])
def test_bytes_after_the_end_are_refused(more):
    refuses(file_of(full_model()) + more, "is damaged")


def test_line_ends_changed_by_a_transfer_are_refused():
    refuses(file_of(full_model()).replace(b"\r\n", b"\n"), "its start is damaged")


# What is no model


@pytest.mark.parametrize("data", [b"1 qid:1 1:0.5\n", b"\x80\x04\x95", b"PK\x03\x04", bytes(1000), b"\x89MR"])
def test_file_of_another_kind_is_refused(data, tmp_path):
    path = tmp_path / "other"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=f"{re.escape(str(path))} is not a marginrank model"):
        RankingModel.load(path)


def test_large_file_of_another_kind_is_not_read():
    class Large(io.BytesIO):
        def read(self, size=-1):
            assert size == len(MAGIC)
            return super().read(size)

    with pytest.raises(ModelFileError, match="is not a marginrank model"):
        RankingModel.load(Large(bytes(100)))


def test_empty_file_folder_and_missing_file_are_named(tmp_path):
    (tmp_path / "empty.mrk").touch()
    for name, message in {
        "empty.mrk": "empty.mrk is empty; expected a marginrank model.",
        "": "is a folder; expected a model file.",
        "missing.mrk": "missing.mrk does not exist; expected a model file.",
        "no/such.mrk": "no/such.mrk does not exist; expected a model file.",
        "empty.mrk/model": "Cannot read the model .*: Not a directory.",
    }.items():
        with pytest.raises(ModelFileError, match=message):
            RankingModel.load(tmp_path / name)


def test_text_files_are_told_apart_from_binary_ones(tmp_path):
    with pytest.raises(ModelFileError, match="open the file in binary mode"):
        full_model().save(io.StringIO())
    with pytest.raises(ModelFileError, match="open it in binary mode"):
        RankingModel.load(io.StringIO("text"))


def test_errors_name_the_file_behind_a_file_object(tmp_path):
    path = tmp_path / "short.mrk"
    path.write_bytes(file_of(full_model())[:100])
    with path.open("rb") as file, pytest.raises(ModelFileError, match=r"short\.mrk is damaged"):
        RankingModel.load(file)


def test_pickles_are_not_executed(tmp_path):
    trap = tmp_path / "trap"
    payload = b"cos\nsystem\n(S'touch " + str(trap).encode() + b"'\ntR."
    refuses(payload, "is not a marginrank model")
    refuses(forged(payload), "the header is not JSON")
    assert not trap.exists()


# Files that were made to deceive: the checksum is right


def test_forged_file_without_a_fault_loads():
    assert RankingModel.load(io.BytesIO(forged_linear())).coef.tolist() == [0.0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (forged(n_header=2**63), "a header of 9223372036854775808 bytes is declared"),
        (forged(n_header=3), "a header of 3 bytes is declared"),
        (forged(b"\xff\xfe"), "the header is not JSON"),
        (forged(b"[" * 100_000), "the header is not JSON"),
        (forged(b"9" * 10_000), "the header is not JSON"),
        (forged([1]), "the header is not a JSON object"),
        (forged({}), "format_version must be a positive integer and is None"),
        (forged_linear(format_version=True), "format_version must be a positive integer and is True"),
        (forged_linear(format_version=0), "format_version must be a positive integer and is 0"),
        (forged_linear(format_version="1"), "format_version must be a positive integer"),
        (forged_linear(kind="kernel"), "holds a model of kind 'kernel', .* Upgrade marginrank"),
        (forged_linear(arrays=None), "no table of arrays"),
        (forged_linear(arrays=[3]), "no sound name, dtype, shape and offset"),
        (forged_linear(arrays=[]), "8 bytes belong to no array"),
        (forged_linear(b"", arrays=[]), "'coef' is missing"),
        (forged_linear(coef={"dtype": "|O"}), "array coef has no sound"),
        (forged_linear(coef={"dtype": [1]}), "array coef has no sound"),
        (forged_linear(coef={"shape": [-1]}), "array coef has no sound"),
        (forged_linear(coef={"shape": [0, 2**47]}), "array coef has no sound"),
        (forged_linear(coef={"shape": [True]}), "array coef has no sound"),
        (forged_linear(coef={"shape": [10**30]}), "array coef has no sound"),
        (forged_linear(coef={"shape": [1] * 64}), "array coef has no sound"),
        (forged_linear(coef={"shape": [2**47, 2**47]}), "array coef is larger than the file"),
        (forged_linear(coef={"shape": [2]}), "array coef is larger than the file"),
        (forged_linear(coef={"offset": 8}), "listed twice or out of place"),
        (forged_linear(coef={"offset": -8}), "array coef has no sound"),
        (forged_linear(coef={"name": 7}), "no sound name"),
        (forged_linear(coef={"shape": [1, 1]}), "coef must be 1-D"),
        (forged_linear(np.array([np.nan]).tobytes()), "coef must be finite; got nan"),
        (forged_linear(intercept="x"), "intercept must be a finite number; got 'x'"),
        (forged_linear(intercept=None), "intercept must be a finite number; got None"),
        (forged_linear(feature_names=["a", "b"]), "one entry per column of X; got 2 for 1"),
        (forged_linear(feature_names=5), "is not a valid marginrank model"),
        (forged_linear(query_normalization="zscore"), "None, 'minmax'; got 'zscore'"),
        (forged_linear(metadata=[1]), "metadata must be a mapping"),
    ],
)
def test_forged_file_is_refused_before_anything_is_allocated(data, message):
    refuses(data, message)


def test_deep_metadata_are_loaded_or_refused():
    for depth in (10, 400, 900, 5000):
        nested = "[" * depth + "]" * depth
        marker = json.dumps("MARK").encode()
        header = decode(forged_linear(), "x")[0] | {"metadata": {"deep": "MARK"}}
        data = forged(json.dumps(header).encode().replace(marker, nested.encode()), bytes(8))
        try:
            RankingModel.load(io.BytesIO(data))
        except ModelFileError:
            assert depth > 10


def test_newer_version_says_which_marginrank_is_needed():
    data = forged_linear(format_version=6, needs_marginrank="2.5.0")
    refuses(
        data, r"format version 6 and needs marginrank 2\.5\.0 or newer; .* reads versions up to 5. Upgrade"
    )
    refuses(forged_linear(format_version=6), "needs marginrank of a later release or newer")


def test_a_later_layout_needs_only_magic_checksum_and_version_to_be_understood():
    refuses(forged({"format_version": 9, "needs_marginrank": "9.0"}, b"whatever"), "needs marginrank 9.0")


# Failed writes


def fail(code):
    def raise_error(*_):
        raise OSError(code, os.strerror(code))

    return raise_error


@pytest.mark.parametrize(
    ("call", "code", "reason"),
    [("fsync", errno.ENOSPC, "No space left on device"), ("replace", errno.EACCES, "Permission denied")],
)
def test_failed_write_leaves_the_old_model_and_no_other_file(call, code, reason, tmp_path, monkeypatch):
    path = tmp_path / "model.mrk"
    RankingModel([1.0]).save(path)
    monkeypatch.setattr(os, call, fail(code))
    with pytest.raises(ModelFileError, match=rf"Cannot write the model to .*model\.mrk: {reason}\. Nothing"):
        full_model().save(path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["model.mrk"]
    assert RankingModel.load(path).coef.tolist() == [1.0]


def test_disk_that_fills_up_while_writing_leaves_the_old_model(tmp_path, monkeypatch):
    path = tmp_path / "model.mrk"
    RankingModel([1.0]).save(path)

    class FullDisk(io.FileIO):
        def write(self, data):
            super().write(data[:50])
            fail(errno.ENOSPC)()

    monkeypatch.setattr("builtins.open", lambda name, mode: FullDisk(name, mode.replace("b", "")))
    with pytest.raises(ModelFileError, match="No space left on device"):
        full_model().save(path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["model.mrk"]
    assert RankingModel.load(path).coef.tolist() == [1.0]


@pytest.mark.parametrize("name", ["missing/model.mrk", "."])
def test_place_that_cannot_be_written_is_named(name, tmp_path):
    with pytest.raises(ModelFileError, match=r"Cannot write the model to .*: (No such file|Is a directory)"):
        full_model().save(tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_folder_without_permission_is_named(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(ModelFileError, match="Permission denied"):
        full_model().save(folder / "model.mrk")
    assert os.listdir(folder) == []


def test_errors_are_errors_of_the_library():
    assert issubclass(ModelFileError, MarginRankError)
    assert issubclass(MarginRankError, ValueError)


def test_arrays_that_files_do_not_hold_are_refused():
    for array in (np.array(["a"]), np.array([None]), np.empty(0)):
        with pytest.raises(ModelFileError, match="Array 'coef' of the model is"):
            encode({}, {"coef": array})


def test_half_written_model_is_never_seen(tmp_path):
    path = tmp_path / "model.mrk"
    with atomic_write(path) as file:
        file.write(file_of(full_model())[:100])
        assert not path.exists()
