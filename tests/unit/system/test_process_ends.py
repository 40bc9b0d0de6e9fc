"""No abort: not where Python ends while a thread trains, nor where memory or threads cannot be had."""

import subprocess
import sys
import textwrap

import pytest

HANG = 300  # seconds, only to catch one


def run(code, *arguments):
    """Run code in a process of its own; return its exit code and what it printed."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False)
    return done.returncode, done.stdout + done.stderr


#: What a thread does for ever; each calls ``started`` when it is in the middle of its work.
ENDLESS = {
    "fit": """
        X, y = rng.standard_normal((4000, 40)), rng.standard_normal(4000)
        work = lambda: RankSVM(alpha=1e-7, tol=1e-13, n_jobs=2).fit(X, y, callbacks=lambda p: started.set())
    """,
    "small queries": """
        X, y, qid = rng.standard_normal((4000, 40)), rng.integers(3, size=4000), np.arange(4000) // 10
        work = lambda: RankSVM(tol=1e-13, n_jobs=2).fit(X, y, qid=qid, callbacks=lambda p: started.set())
    """,
    "kernel path": """
        from marginrank.paths import kernel_rank_path
        X = rng.standard_normal((120, 3))
        work = lambda: kernel_rank_path(X, X[:, 0] ** 2, gamma=1.0, callbacks=lambda p: started.set())
    """,
    "metrics": """
        from marginrank.metrics import evaluate
        y = rng.integers(3, size=200_000)
        work = lambda: (started.set(), evaluate(y, rng.random(200_000), metrics=["ndcg@10"]))
    """,
}
#: One compiled function for each way of letting the GIL go; Python ends while it runs.
KERNELS = {
    "without_gil": """
        y, ptr = rng.integers(3, size=1_000_000).astype(float), np.arange(0, 1_000_001, 10)
        specs = [kernels.MetricSpec("ndcg", 10, 1.0, "exponential", "log2", "input", "pad", False, 4.0)] * 4
        values, tied = np.zeros((4, len(ptr) - 1)), np.zeros(len(ptr) - 1, bool)
        work = lambda: (started.set(), kernels.ranking_metrics(y, y, None, ptr, specs, values, tied, 1))
    """,
    "row_product": """
        X, out = rng.standard_normal((1000, 500)), np.empty((1000, 500))
        product = kernels.RowProductF64(X[:500])
        work = lambda: (started.set(), product.apply(X, out))
    """,
    "simplex_qp": """
        X = rng.standard_normal((300, 300))
        gram, linear, theta = X @ X.T, rng.standard_normal(300), np.full(300, 1 / 300)
        work = lambda: (started.set(), kernels.simplex_qp(gram, linear, 1e-6, theta, 0.0, 300))
    """,
    "letor": """
        data, columns, ptr = rng.random(1_000_000), np.arange(1_000_000) % 10, np.arange(0, 1_000_001, 10)
        ends = np.empty(len(ptr) - 1, dtype=np.int64)
        work = lambda: (started.set(), kernels.write_letor_features(data, columns, ptr, 1, ends))
    """,
    "kernel_path": """
        X = rng.standard_normal((200, 50))
        i, j = (rows.astype(np.int32) for rows in np.triu_indices(200, 1))
        K, ones = X @ X.T, np.ones(len(i))
        work = lambda: (started.set(), kernels.KernelPath(K, i, j, ones, ones))
    """,
}
HEAD = """
    import os, sys, threading, time, warnings
    import numpy as np
    from marginrank import RankSVM
    from marginrank import _kernels as kernels
    warnings.simplefilter("ignore")
    rng, started = np.random.default_rng(0), threading.Event()
"""
# What hangs on sys goes last, when no other thread gets the GIL any more. Python waits there until the thread
# has asked for it: until its kernel has returned and it rests, at two looks in a row.
TAIL = """
    class LastToGo:
        def __init__(self, thread):
            path = f"/proc/self/task/{thread.native_id}/stat"
            self.stat = open(path, "rb", buffering=0) if os.path.exists(path) else None
        def __del__(self, sleep=time.sleep):
            resting = 0 if self.stat is not None else 2
            while resting < 2:
                sleep(0.02)
                try:
                    self.stat.seek(0)
                    resting = 0 if b") R " in self.stat.read() else resting + 1
                except OSError:
                    resting = 2
            self.stat.close()
    def forever():
        while True:
            work()
    thread = threading.Thread(target=forever, daemon=True)
    thread.start()
    sys.last_to_go = LastToGo(thread)
    started.wait()
    print("ends")
"""


def ending(work):
    """Run a program that ends while a thread works."""
    return run("".join(map(textwrap.dedent, (HEAD, work, TAIL))))


@pytest.mark.parametrize("name", ENDLESS)
def test_python_ends_cleanly_while_a_daemon_thread_works(name):
    for _ in range(3):
        assert ending(ENDLESS[name]) == (0, "ends\n")


@pytest.mark.parametrize("name", KERNELS)
def test_python_ends_cleanly_while_a_kernel_runs(name):
    assert ending(KERNELS[name]) == (0, "ends\n")


LIMITED = """
    import resource, sys
    import numpy as np
    def limit(megabytes):
        pages = int(open("/proc/self/statm").read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (megabytes << 20),) * 2)
"""
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")


@linux_only
def test_metrics_that_do_not_fit_into_memory_are_a_memory_error():
    code = """
        from marginrank._kernels import MetricSpec, ranking_metrics
        specs = [MetricSpec("ndcg", 0, 1.0, "exponential", "log2", "input", "pad", False, 4.0)] * 8_000_000
        y, ptr = np.zeros(2), np.array([0, 2])
        values, tied = np.zeros((1, 1)), np.zeros(1, bool)
        limit(100)
        try:
            ranking_metrics(y, y, None, ptr, specs, values, tied, 1)
        except MemoryError as error:
            print(error)
    """
    said = "Unable to allocate the memory that a kernel needs\n"
    assert run(textwrap.dedent(LIMITED) + textwrap.dedent(code)) == (0, said)


@linux_only
def test_where_no_more_threads_can_be_had_those_there_are_do_the_work():
    code = """
        import threading
        from marginrank import RankSVM
        rng = np.random.default_rng(0)
        X, y, qid = rng.standard_normal((20_000, 30)), rng.integers(3, size=20_000), np.arange(20_000) // 10
        fit = lambda jobs: RankSVM(tol=0.05, n_jobs=jobs).fit(X, y, qid=qid).coef_.tobytes()
        expected = fit(1)
        limit(100)  # a thread takes 8 MB of address space
        print(fit(64) == expected)
        try:
            for _ in range(64):
                threading.Thread(target=threading.Event().wait, daemon=True).start()
        except RuntimeError:
            print("no more threads")
    """
    assert run(textwrap.dedent(LIMITED) + textwrap.dedent(code)) == (0, "True\nno more threads\n")
