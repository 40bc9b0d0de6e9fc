"""Ctrl-C and start-up: what is imported when, and one sentence at whatever moment the signal comes."""

import signal
import subprocess
import sys
import time

import pytest

import marginrank
from limits import HANG

RUN = "import sys, marginrank.cli as c; {before}; sys.exit(c.main(sys.argv[1:]))"


def python(code, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=HANG, **options
    )


def interrupting(module):
    """Return a program that gets Ctrl-C while it imports a module, and swallows no exception of ours."""
    finder = (
        "import os, signal, sys, importlib.abc\n"
        "class Finder(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r}:\n"
        "            try: os.kill(os.getpid(), signal.SIGINT)\n"
        "            except BaseException: raise ImportError('wrapped') from None\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    return finder + RUN.format(before="0")


@pytest.mark.parametrize(
    "module", ["click", "numpy", "marginrank.cli.commands.train", "sklearn", "scipy.sparse"]
)
def test_interrupted_imports_end_with_one_sentence(tmp_path, module):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    done = python(interrupting(module), "train", "a.txt", "-o", "m.mrk", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "Interrupted; nothing was written.\n"
    assert not (tmp_path / "m.mrk").exists()


def test_where_processes_must_be_ended_an_interrupt_waits_for_the_end_of_an_import(tmp_path):
    (tmp_path / "slow_module.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(0.1)\nDONE = True\n"
    )
    code = (
        "import sys, time\n"
        "from marginrank.cli import interrupts\n"
        "interrupts.watch()\n"
        "try:\n"
        "    with interrupts.orderly(writes=False, waits=True):\n"
        "        import slow_module\n"
        f"        time.sleep({HANG})\n"
        "except KeyboardInterrupt:\n"
        "    print('tidied up', slow_module.DONE, interrupts.happened(), interrupts.code())\n"
    )
    done = python(code, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("tidied up True True 130\n", "")


def test_an_interrupt_that_something_wrapped_while_writing_is_still_one(tmp_path):
    wrapped = (
        "import os, signal, contextlib, marginrank.cli.files.reading as f\n"
        "@contextlib.contextmanager\n"
        "def opened(path):\n"
        "    try: os.kill(os.getpid(), signal.SIGINT)\n"
        "    except KeyboardInterrupt: raise RuntimeError('wrapped') from None\n"
        "    yield\n"
        "f.open_for_writing = opened\n"
    )
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    (tmp_path / "a.scores").write_text("1\n2\n")
    arguments = ["evaluate", "a.txt", "a.scores", "--per-query", "q.csv"]
    done = python(wrapped + RUN.format(before="0"), *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "Interrupted; nothing was written.\n")


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("--version", "Interrupted while ending; the work was done.\n"),
        ("--nonsense", "Interrupted while ending.\n"),
    ],
)
def test_an_interrupt_while_python_ends_tells_whether_the_work_was_done(argument, sentence):
    code = "import atexit, os, signal; atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
    done = python(code + RUN.format(before="0"), argument)
    assert done.returncode == 130
    assert done.stderr.endswith(sentence)


@pytest.mark.parametrize("moment", [0.1, 0.3, 0.6])
def test_interrupts_at_any_moment(tmp_path, moment):
    process = subprocess.Popen(
        [sys.executable, "-m", "marginrank", "inspect", "-"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,  # it waits for rows that never come
        stderr=subprocess.PIPE,
        text=True,
    )
    while "marginrank" not in _command(process.pid):
        time.sleep(0.001)
    deadline = time.monotonic() + HANG
    while not _catches_interrupts(process.pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(moment)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=HANG)
    assert (process.returncode, errors) == (130, "Interrupted; nothing was written.\n")


def _command(pid):
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read()


def _catches_interrupts(pid):
    """Whether our package is imported, as far as can be seen from outside: click is loaded after it."""
    with open(f"/proc/{pid}/maps") as file:
        return "numpy" in file.read()


def test_what_was_written_before_is_not_denied(tmp_path):
    late = (
        "import os, signal, marginrank.cli.commands.train as t\n"
        "t.print_facts = lambda facts: os.kill(os.getpid(), signal.SIGINT)\n"
    )
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    done = python(late + RUN.format(before="0"), "train", "a.txt", "-o", "m.mrk", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "Interrupted; what was written before stays.\n")
    assert (tmp_path / "m.mrk").exists()


def test_sigterm_says_the_same_with_its_own_exit_code():
    kill = "c.interrupts.watch(); __import__('os').kill(__import__('os').getpid(), 15)"
    done = python(RUN.format(before=kill), "--version")
    assert (done.returncode, done.stderr) == (143, "Interrupted; nothing was written.\n")


def test_sigterm_is_heard_where_ctrl_c_is_ignored():
    """As in the background of a shell script, where it stands for the scheduler of a cluster."""
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    kill = "c.interrupts.watch(); __import__('os').kill(__import__('os').getpid(), 15)"
    done = python(code + RUN.format(before=kill), "--version")
    assert (done.returncode, done.stderr) == (143, "Interrupted; nothing was written.\n")


def test_ignored_signals_stay_ignored(tmp_path):
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    kill = "__import__('os').kill(__import__('os').getpid(), 2)"
    done = python(code + RUN.format(before=kill), "--version")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import marginrank", ("numpy", "scipy", "sklearn", "click")),
        ("import marginrank.cli as c; c.main(['--help'])", ("numpy", "scipy", "sklearn", "rich")),
        ("import marginrank.cli as c; c.main(['--version'])", ("numpy", "scipy", "sklearn", "rich")),
        ("import marginrank.cli as c; c.main(['train', '--help'])", ("sklearn", "pyarrow")),
        ("import marginrank.cli as c; c.main(['inspect', 'a.mrk'])", ("sklearn", "pyarrow", "pandas")),
        ("import marginrank.cli as c; c.main(['convert', 'a.txt', 'a.npz'])", ("sklearn", "pyarrow")),
        ("import marginrank.cli as c; c.main(['evaluate', 'a.txt', 'a.scores'])", ("sklearn", "pyarrow")),
        ("import marginrank.cli as c; c.main(['predict', 'a.mrk', 'a.txt'])", ("sklearn", "pyarrow")),
        ("import marginrank as m; m.RankingModel.load('a.mrk').predict([[1.0]])", ("sklearn", "pandas")),
    ],
)
def test_only_what_is_needed_is_imported(tmp_path, code, unwanted):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    (tmp_path / "a.scores").write_text("1\n2\n")
    marginrank.RankingModel([2.0]).save(tmp_path / "a.mrk")
    seen = f"{code}; import sys; sys.exit(' '.join(set({unwanted!r}) & set(sys.modules)))"
    done = python(seen, cwd=tmp_path)
    assert (done.returncode, done.stderr.replace("2 rows, 1 query, 1 feature\n", "").strip()) == (1, "")


def test_a_ranker_imports_nothing_of_scikit_learn_beyond_its_base(tmp_path):
    code = """
import sys, sklearn.base
before = set(sys.modules)
from marginrank import RankSVM
more = {name for name in set(sys.modules) - before if name.startswith("sklearn")}
sys.exit(" ".join(sorted(more)))
"""
    done = python(code, cwd=tmp_path)
    assert (done.returncode, done.stderr.strip()) == (1, "")


@pytest.mark.parametrize("package", ["estimators", "paths"])
def test_packages_list_names_that_they_import_later(package):
    module = getattr(marginrank, package)
    assert set(module.__all__) <= set(dir(module))
    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match=f"module 'marginrank.{package}' has no attribute 'RankTree'"):
        _ = module.RankTree


def test_names_are_found_when_they_are_asked_for():
    for name in marginrank.__all__:
        assert name in dir(marginrank)
        assert getattr(marginrank, name) is not None
    assert marginrank.io.read is not None
    with pytest.raises(AttributeError, match="module 'marginrank' has no attribute 'RankTree'"):
        _ = marginrank.RankTree


COUNTING = """
import os, signal, sys
import marginrank.cli as c
at, calls = int(sys.argv[1]), 0
def profile(frame, event, argument):
    global calls
    calls += event == "call"
    if calls == at:
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)
sys.argv = ["marginrank", *sys.argv[2:]]
c.interrupts.watch()  # before it nothing of ours runs
sys.setprofile(profile)
c.command()
"""


@pytest.mark.parametrize("at", [1, 10, 100, 1000, 10_000, 100_000])
def test_an_interrupt_at_a_chosen_call_ends_tune_with_one_sentence(tmp_path, at):
    rows = "".join(f"{k % 3} qid:{k // 6} 1:{k % 5} 2:{k * 7 % 11}\n" for k in range(36))
    (tmp_path / "a.txt").write_text(rows)
    done = python(COUNTING, str(at), "tune", "a.txt", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted; nothing was written.\n")


@pytest.mark.parametrize("module", ["sklearn.utils", "scipy.linalg", "marginrank.solvers.tracing"])
def test_an_interrupt_while_modules_are_imported_for_a_training_ends_it_with_one_sentence(tmp_path, module):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    done = python(interrupting(module), "path", "a.txt", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "Interrupted; nothing was written.\n"


def test_an_interrupt_that_python_cannot_pass_on_ends_the_process(tmp_path):
    lost = (
        "import os, signal, marginrank.cli.commands.train as t\n"
        "class Lost:\n"
        "    def __del__(self): os.kill(os.getpid(), signal.SIGINT)\n"
        "def fit(*arguments, **named):\n"
        "    with t.interrupts.orderly(writes=False): Lost()\n"
        "t._train_here = fit\n"
    )
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    done = python(lost + RUN.format(before="0"), "train", "a.txt", "-o", "m.mrk", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "Interrupted; nothing was written.\n")
