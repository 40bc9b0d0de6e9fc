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
        fit = lambda: RankSVM(alpha=1e-7, tol=1e-13, n_jobs=2).fit(X, y, callbacks=lambda p: started.set())
    """,
    "small queries": """
        X, y, qid = rng.standard_normal((4000, 40)), rng.integers(3, size=4000), np.arange(4000) // 10
        fit = lambda: RankSVM(tol=1e-13, n_jobs=2).fit(X, y, qid=qid, callbacks=lambda p: started.set())
    """,
    "kernel path": """
        from marginrank.paths import kernel_rank_path
        X = rng.standard_normal((120, 3))
        fit = lambda: kernel_rank_path(X, X[:, 0] ** 2, gamma=1.0, callbacks=lambda p: started.set())
    """,
    "metrics": """
        from marginrank.metrics import evaluate
        y = rng.integers(3, size=200_000)
        fit = lambda: (started.set(), evaluate(y, rng.random(200_000), metrics=["ndcg@10"]))
    """,
}


@pytest.mark.parametrize("name", ENDLESS)
def test_python_ends_cleanly_while_a_daemon_thread_works(name):
    head = """
        import threading, warnings
        import numpy as np
        from marginrank import RankSVM
        warnings.simplefilter("ignore")
        rng, started = np.random.default_rng(0), threading.Event()
    """
    tail = """
        def work():
            while True:
                fit()
        threading.Thread(target=work, daemon=True).start()
        started.wait()
        print("ends")
    """
    code = "".join(map(textwrap.dedent, (head, ENDLESS[name], tail)))
    for _ in range(3):
        assert run(code) == (0, "ends\n")


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
        except MemoryError:
            print("no memory")
    """
    assert run(textwrap.dedent(LIMITED) + textwrap.dedent(code)) == (0, "no memory\n")


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
