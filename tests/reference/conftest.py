import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data():
    """The folder of real data sets; see test_real_data.py for what it holds."""
    folder = os.environ.get("MARGINRANK_DATA")
    if not folder:
        pytest.skip("MARGINRANK_DATA is not set; it names the folder with MQ2008, OHSUMED and IMDB.")
    return Path(folder)
