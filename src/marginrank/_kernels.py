"""The compiled kernels: the only place that imports the extension modules.

Those that gain from wide registers are compiled twice, for any processor and for one that has them; both
give the same bits. With ``MARGINRANK_AVX2=0`` in the environment the former are taken everywhere, to see
that they do.
"""

import os
from typing import TYPE_CHECKING

from marginrank._native import *  # noqa: F403  # all kernels, by the names that bindings/ gives them
from marginrank._native import has_wide_registers

if not TYPE_CHECKING and os.environ.get("MARGINRANK_AVX2") != "0" and has_wide_registers():
    from marginrank._native_avx2 import *  # noqa: F403  # in place of those above
