"""Data three times as large as what a process may allocate are converted and trained on."""

import os
import subprocess
import sys
import textwrap

import pytest

from limits import HANG

LIMIT = 45  # MB beside what the process has before it begins


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_data_beyond_a_limit_on_memory(tmp_path):
    script = textwrap.dedent(
        f"""
        import resource, threading
        import numpy as np
        from marginrank import RankSVM, open_dataset
        from marginrank.io import convert_to_dataset

        rng = np.random.default_rng(0)
        def row(label):
            words = np.unique(rng.integers(1, 2000, size=115))
            features = " ".join(f"{{w}}:{{1 + label if w < 9 else 1}}" for w in words)
            return f"{{label}} qid:0 {{features}}".encode()
        query = b"\\n".join(row(k % 3) for k in range(50)) + b"\\n"
        with open("train.txt", "wb") as file:
            for number in range(2150):
                file.write(query.replace(b"qid:0", b"qid:%d" % number))

        def data_bytes():
            with open("/proc/self/status") as file:
                return 1024 * next(int(line.split()[1]) for line in file if line.startswith("VmData"))

        ranker = RankSVM(alpha=1.0, tol=1e-2, n_jobs=1)
        with open("small.txt", "wb") as file:
            file.write(query)
        ranker.fit(convert_to_dataset("small.txt", "small.mrd", n_jobs=1))  # imports are not what is measured
        threading.stack_size(1 << 20)
        limit = data_bytes() + {LIMIT} * 10**6
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        try:
            np.empty({3 * LIMIT} * 10**6, dtype=np.uint8)  # what all features take
        except MemoryError:
            print("refused")
        convert_to_dataset("train.txt", "train.mrd", chunk_bytes=3 * 10**6, n_jobs=1)
        ranker.fit(open_dataset("train.mrd"))
        print(sum(path.stat().st_size for path in open_dataset("train.mrd").path.iterdir()))
        print(ranker.gap_ <= ranker.tol, ranker.n_queries_)
        """
    )
    # What is freed goes back to the system; otherwise glibc keeps some, and the limit would count it.
    settings = {
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_THRESHOLD_": "262144",
        "MALLOC_TRIM_THRESHOLD_": "262144",
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **settings},
        timeout=HANG,
    )
    assert not done.returncode, done.stderr
    refused, size, *end = done.stdout.split("\n")
    assert refused == "refused"
    assert int(size) > 3 * LIMIT * 10**6
    assert end[0] == "True 2150"
