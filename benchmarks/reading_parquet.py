"""How fast Parquet is read, beside pyarrow's own reading of the same files.

Writes a folder of four files, reads it as one Arrow table by pyarrow, as ranking data in memory, in batches
as ``convert`` does, and converts it to a data set on disk; all in turn, on one core, and prints the seconds
of processors of the best of some rounds and their ratios. The shapes: 136 features of six decimals, as
MSLR-WEB has them; 46 features with few values each, which Parquet keeps as a dictionary; the first with ids
of text.

    python benchmarks/reading_parquet.py               # 200,000 rows, a minute
    python benchmarks/reading_parquet.py --rows 50000 --rounds 2
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

from marginrank.io import convert_to_dataset, load_table
from marginrank.io.tables import table_batches

N_FILES = 4
ROWS_A_QUERY = 100
BATCH = 16 << 20


def decimals(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Return features as those of MSLR-WEB."""
    return rng.gamma(0.5, 2.0, (n_rows, 136)).round(6)


def few_values(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Return features of a hundred values each."""
    return (rng.integers(0, 100, (n_rows, 46)) / 100).astype(np.float32)


def query_texts(numbers: np.ndarray) -> Any:
    """Return ids as a search engine has them."""
    return [f"q-{number:08d}" for number in numbers.tolist()]


SHAPES: dict[str, tuple[Callable[..., np.ndarray], Callable[[np.ndarray], Any]]] = {
    "136 of six decimals": (decimals, np.asarray),
    "46 of few values": (few_values, np.asarray),
    "136, ids of text": (decimals, query_texts),
}


def write_folder(folder: Path, shape: str, n_rows: int) -> None:
    """Write the rows as files of equal length."""
    features, ids = SHAPES[shape]
    rng = np.random.default_rng(0)
    for k in range(N_FILES):
        X = features(rng, n_rows // N_FILES)
        numbers = (np.arange(len(X)) + k * len(X)) // ROWS_A_QUERY
        columns = {f"f{j}": X[:, j] for j in range(X.shape[1])}
        table = pa.table({**columns, "label": rng.integers(0, 5, len(X)), "qid": ids(numbers)})
        pq.write_table(table, folder / f"part-{k}.parquet")


def readings(folder: Path, target: Path) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name; pyarrow first."""

    def convert() -> None:
        shutil.rmtree(target, ignore_errors=True)
        convert_to_dataset(folder, target, format="parquet")

    return {
        "pyarrow, one table": lambda: pyarrow.dataset.dataset(folder).to_table(use_threads=False),
        "load_table": lambda: load_table(folder),
        "in batches": lambda: [None for _ in table_batches(folder, BATCH, format="parquet")],
        "convert": convert,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    pa.set_cpu_count(1)
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "lake"
            folder.mkdir()
            write_folder(folder, shape, options.rows)
            todo = readings(folder, Path(place) / "lake.mrd")
            best = dict.fromkeys(todo, float("inf"))
            for _ in range(options.rounds):
                for name, read in todo.items():
                    start = time.process_time()
                    read()
                    best[name] = min(best[name], time.process_time() - start)
            size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        theirs = best["pyarrow, one table"]
        print(f"{shape}: {options.rows:,} rows, {size:.0f} MB")
        for name, seconds in best.items():
            speed = f"{size / seconds:7.1f} MB/s  {theirs / seconds:5.2f} of pyarrow"
            print(f"  {name:20} {seconds:7.3f} s  {speed}")


if __name__ == "__main__":
    main()
