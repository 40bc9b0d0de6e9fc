"""``python -m marginrank`` is the command line."""

import sys

from marginrank.cli import main

sys.exit(main())
