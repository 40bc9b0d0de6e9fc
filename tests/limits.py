"""The one limit on time: it ends a test that hangs, and decides nothing else."""

#: Seconds. No test takes a tenth of it on a slow machine with other work to do.
HANG = 900
