"""What tests of files do in processes of their own: be killed at a chosen moment, hold something, wait."""

import builtins
import os
import traceback
import warnings

KILLED = 77
# What a program does to the disk, as far as it goes through Python.
OPERATIONS = (
    "open",
    "mkdir",
    "rename",
    "replace",
    "unlink",
    "rmdir",
    "link",
    "fsync",
    "write",
    "chmod",
    "scandir",
)


def in_child(action):
    """Run a function in a process of its own and return its exit code: 0, or 1 after an exception."""
    return ended(started(action))


def started(action):
    """Start a process that runs a function, and return its number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads; the child uses none
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            action()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def ended(pid):
    """Wait for a process, and return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def before_operation(number, act):
    """Call ``act`` before an operation that changes the disk, counted from 0, and before all later ones."""
    count = iter(range(10**9))

    def counted(original, changes):
        def operation(*arguments, **options):
            if changes(*arguments, **options) and next(count) >= number:
                act()
            return original(*arguments, **options)

        return operation

    originals = {name: getattr(os, name) for name in OPERATIONS}
    for name, original in originals.items():
        setattr(os, name, counted(original, _opens_to_write if name == "open" else lambda *_, **__: True))
    opened, builtins.open = builtins.open, counted(builtins.open, _opens_file_to_write)

    def undo():
        for name, original in originals.items():
            setattr(os, name, original)
        builtins.open = opened

    return undo


def killed_at(number, action):
    """Run a function in a process that dies before the given operation; whether it did."""

    def mortal():
        before_operation(number, lambda: os._exit(KILLED))
        action()

    code = in_child(mortal)
    assert code in (0, KILLED)
    return code == KILLED


def _opens_to_write(path, flags, *_, **__):
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _opens_file_to_write(path, mode="r", *_, **__):
    return not isinstance(path, int) and bool(set("wax+") & set(mode))
