"""Large-margin learning to rank: exact, fast, certified.

Examples
--------
>>> import numpy as np
>>> from marginrank import RankSVM
>>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
>>> RankSVM().fit(X, y=[0, 1, 2]).predict(X).argmax()
np.int64(2)
"""

from importlib.metadata import version

from marginrank.data import RankingData
from marginrank.estimators import RankRLS, RankSVM
from marginrank.io import dump_letor, load_letor
from marginrank.model import RankingModel

__version__ = version("marginrank")

__all__ = ["RankRLS", "RankSVM", "RankingData", "RankingModel", "__version__", "dump_letor", "load_letor"]
