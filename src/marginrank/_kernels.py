"""The compiled kernels: the only place that imports the extension modules.

They are compiled twice, for any processor and for one with wide registers; both give the same bits. With
``MARGINRANK_AVX2=0`` in the environment the former are taken everywhere, to see that they do.
"""

import os
from typing import TYPE_CHECKING

from marginrank._native import has_wide_registers

if TYPE_CHECKING or os.environ.get("MARGINRANK_AVX2") == "0" or not has_wide_registers():
    from marginrank._native import *  # noqa: F403  # all kernels, by the names that bindings/ gives them
else:
    from marginrank._native_avx2 import *  # noqa: F403
