"""``marginrank sample``: the shell lines of the quick tour run on its files as they stand."""

import json
import re
from pathlib import Path

import numpy as np

from marginrank.cli.app import run
from marginrank.datasets import load_sample
from marginrank.io import read

TOUR = Path(__file__).parents[4] / "docs" / "quick-tour.md"


def test_the_shell_lines_of_the_quick_tour_run_on_it(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    block = re.search(r"\*\*In a shell\.\*\*\n\n```sh\n(.*?)```", TOUR.read_text(), re.DOTALL)[1]
    lines = [line.split() for line in block.strip().splitlines()]
    assert lines[0] == ["marginrank", "sample", "."]
    for line in lines:
        assert line[0] == "marginrank"
        assert run(line[1:]) == 0, line
    assert "ndcg@10" in capfd.readouterr().out


def test_files_of_every_format_hold_the_sample(tmp_path, capfd):
    for format, ending in (("letor", "txt"), ("csv", "csv"), ("npz", "npz"), ("parquet", "parquet")):
        assert run(["sample", str(tmp_path / format), "--format", format, "--json"]) == 0
        said = json.loads(capfd.readouterr().out)
        assert said["files"][f"train.{ending}"]["queries"] == 60
        for name, data in zip(("train", "vali", "test"), load_sample(), strict=True):
            found = read(tmp_path / format / f"{name}.{ending}")
            assert np.array_equal(found.X, data.X)
            assert np.array_equal(found.y, data.y)
            assert found.comments.tolist() == data.comments.tolist()
            assert found.feature_names == (None if format == "letor" else data.feature_names)
    names = (tmp_path / "letor" / "features.txt").read_text().splitlines()
    assert [line.split("\t")[1] for line in names] == list(load_sample().train.feature_names)


def test_files_that_are_there_are_kept_unless_asked(tmp_path, capfd):
    (tmp_path / "vali.txt").write_text("mine\n")
    assert run(["sample", str(tmp_path)]) == 1
    assert "vali.txt is there already; use --overwrite" in capfd.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["vali.txt"]
    assert run(["sample", str(tmp_path), "--overwrite"]) == 0
    assert read(tmp_path / "vali.txt").n_queries == 20
