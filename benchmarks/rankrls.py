"""How fast least-squares ranking is, in units of one pass over the data (``ref`` of ``linear.py``).

python benchmarks/rankrls.py
python benchmarks/rankrls.py --rows-per-query 10
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from linear import apart, memory_bytes, reference, reset_peak_memory, search_like
from marginrank.designs.centred import CentredRows
from marginrank.designs.gram import centred_gram
from marginrank.solvers.leave_query_out import leave_query_out
from marginrank.solvers.spectral import SpectralPath
from marginrank.threads import default_threads


def dense_queries(rows_per_query: int | None = None, n_alphas: int = 21) -> dict[str, Any]:
    """Time all alphas by the direct path, without and with leave-query-out scores, and the peak memory."""
    X, y, qid = search_like()
    query_ptr = np.append(np.flatnonzero(np.diff(qid, prepend=-1)), len(y))
    if rows_per_query is not None:
        query_ptr = np.append(np.arange(0, len(y), rows_per_query), len(y))
    alphas = np.logspace(-8, 2, n_alphas)
    unit = reference(X)
    before = reset_peak_memory()
    start = time.perf_counter()
    path = SpectralPath(centred_gram(CentredRows(X, query_ptr, n_threads=default_threads()), y))
    path.coefficients(alphas)
    fitted = time.perf_counter()
    n_scores = sum(scores.size for _, scores in leave_query_out(path, alphas))
    left_out = time.perf_counter()
    return {
        "queries": len(query_ptr) - 1,
        "gap": float(path.gaps(alphas).max()),
        "fit_ref": (fitted - start) / unit,
        "left_out_ref": (left_out - start) / unit,
        "scores": n_scores,
        "memory": (memory_bytes("VmHWM") - before) / X.nbytes,
        "unit_ms": 1e3 * unit,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows-per-query", type=int)
    row = apart(dense_queries, parser.parse_args().rows_per_query)
    print(
        f"{row['queries']:,} queries, 136 dense float32, 21 alphas, direct: {row['fit_ref']:.1f} ref (goal 10)"
        f", with leave-query-out {row['left_out_ref']:.1f} ref (goal 300), gap {row['gap']:.1e},"
        f" memory {row['memory']:.2f} x input, ref = {row['unit_ms']:.1f} ms"
    )


if __name__ == "__main__":
    main()
