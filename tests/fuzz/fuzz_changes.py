"""Changes of inputs from a seed: bytes that are flipped, cut, repeated; odd values in JSON."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

#: What stands in JSON where something else was expected.
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    2**31,
    2**63,
    -(2**63) - 1,
    10**400,
    0.5,
    -0.0,
    5e-324,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "..",
    "<f8",
    "|O",
    "\ud800",
    "a" * 3000,
    [],
    [[]],
    [1, "x", None],
    {},
    {"name": 1},
)


def changed_bytes(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Return data with one to six places changed."""
    found = bytearray(data)
    for _ in range(random.randint(1, 6)):
        at = random.randrange(len(found) + 1)
        match random.randrange(6):
            case 0:
                found[at:at] = random.randbytes(random.randint(1, 8))
            case 1:
                del found[at : at + random.randint(1, 16)]
            case 2:
                found[at : at + 1] = random.randbytes(1)
            case 3 if at < len(found):
                found[at] ^= 1 << random.randrange(8)
            case 4:
                del found[at:]
            case _:
                other = random.choice(others)
                start = random.randrange(len(other) + 1)
                found[at:at] = other[start : start + random.randint(1, 64)]
    return bytes(found)


def changed_json(content: Any, random: Random) -> Any:
    """Return a copy of JSON values with one to three of them replaced, taken out or repeated."""
    found = json.loads(json.dumps(content))
    for _ in range(random.randint(1, 3)):
        found = _changed_once(found, random)
    return found


def _changed_once(content: Any, random: Random) -> Any:
    if not isinstance(content, dict | list) or not content or random.random() < 0.1:
        return deepcopy(random.choice(ODD_VALUES))
    key = random.choice(list(content) if isinstance(content, dict) else range(len(content)))
    if random.random() < 0.6:
        content[key] = _changed_once(content[key], random)
    elif random.random() < 0.5:
        del content[key]
    elif isinstance(content, list):
        content.append(deepcopy(content[key]))
    else:
        content[random.choice(["", "x", "sha256", "version", *content])] = deepcopy(content[key])
    return content
