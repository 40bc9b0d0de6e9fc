"""README as the package index shows it: links within the project lead to its home page, no comments.

The index shows the text alone, so that ``docs/start.md`` would lead nowhere. scikit-build-core calls
``dynamic_metadata`` when it writes the metadata of a wheel or of the source distribution; ``Homepage`` of
``pyproject.toml`` is what links begin with.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: A link or a picture whose target is a file of the project: neither an address nor a place on the page.
LOCAL = re.compile(r"(\]\()(?![a-z]+:|#)([^)\s]+\))")
COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def absolute(text: str, home: str) -> str:
    """Return the text with the links of its project below a home page, without comments.

    Examples
    --------
    >>> absolute("[start](docs/start.md), <!-- figure: a -->7<!-- / --> [web](https://b.org)", "https://a.org")
    '[start](https://a.org/docs/start.md), 7 [web](https://b.org)'
    """
    return LOCAL.sub(rf"\g<1>{home.rstrip('/')}/\g<2>", COMMENT.sub("", text))


def dynamic_metadata(field: str, settings: dict[str, Any], *_: Any) -> dict[str, str]:
    """Return what scikit-build-core asks for: the readme."""
    if field != "readme" or settings:
        raise ValueError(f"expected the field readme without settings; got {field!r} and {settings!r}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return {"content-type": "text/markdown", "text": absolute(text, project["urls"]["Homepage"])}
