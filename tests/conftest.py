"""What all tests share; the slow definitions they compare with are in ``brute_force.py`` beside this file."""

import signal

import pytest
from hypothesis import HealthCheck, settings

# No test depends on time: a machine with other work to do is not wrong.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# A shell that runs the tests in the background has them, and all that they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def chromium():
    """Return a driver of a real browser, headless; without one the test is skipped."""
    from chromium import driver_of_chromium

    found = driver_of_chromium()
    yield found
    found.quit()


@pytest.fixture
def browser(chromium):
    """Return a browser without complaints so far."""
    from chromium import Browser

    chromium.get_log("browser")
    return Browser(chromium)
