"""Makes the mistake that the environment names, while the module is imported; no file changes.

Python imports this when it starts, because the folder stands in PYTHONPATH, so processes that tests start
have the same mistake.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).resolve().parents[1]
_SOURCE = _FOLDER.parents[1] / "src"


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles the changed module, and neither reads nor writes compiled files."""

    def path_stats(self, path: Any) -> Any:
        raise OSError("no compiled file")

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:
        sys.path.append(str(_FOLDER))
        try:
            changed = _changed(Path(path), os.environ["MARGINRANK_MUTANT"])
        finally:
            sys.path.remove(str(_FOLDER))
        return compile(changed, path, "exec", dont_inherit=True, optimize=_optimize)


def _changed(path: Path, name: str) -> Any:
    if name.startswith("chosen: "):
        import chosen_mutants

        return chosen_mutants.mutated(name.removeprefix("chosen: "))
    import python_places

    return python_places.mutated(path, name)


class _Finder:
    def __init__(self, module: str) -> None:
        self._module = module

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._module:
            return None
        file = _SOURCE / (name.replace(".", "/") + ".py")
        return importlib.util.spec_from_file_location(name, file, loader=_Loader(name, str(file)))


if "MARGINRANK_MUTATED" in os.environ:
    sys.meta_path.insert(0, _Finder(os.environ["MARGINRANK_MUTATED"]))  # type: ignore[arg-type]
