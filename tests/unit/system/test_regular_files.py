"""Files that must be files: what goes wrong while one is read names it."""

import os

import pytest

from marginrank.system.regular_files import open_regular

MEMORY = "/proc/self/mem"  # nothing lies at address 0, so reading its first byte is an error of the system


@pytest.mark.skipif(not os.path.exists(MEMORY), reason="needs a file that cannot be read")
@pytest.mark.parametrize("buffering", [-1, 0])
@pytest.mark.parametrize(
    "read",
    [lambda file: file.read(), lambda file: file.read(8), lambda file: file.readinto(bytearray(8))],
    ids=["all", "some", "into"],
)
def test_a_file_that_cannot_be_read_is_named(read, buffering):
    with open_regular(MEMORY, buffering=buffering) as file, pytest.raises(OSError, match=MEMORY) as raised:
        read(file)
    assert raised.value.filename == MEMORY


def test_files_are_read_and_changed_in_place(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abcdef")
    for buffering in (-1, 0):
        with open_regular(path, "r+b", buffering=buffering) as file:
            assert file.read(2) == b"ab"
            file.seek(2)
            file.write(b"C")
        assert path.read_bytes() == b"abCdef"
        with open_regular(path, buffering=buffering) as file:
            assert file.read() == b"abCdef"
