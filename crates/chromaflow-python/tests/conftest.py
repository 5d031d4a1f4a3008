"""What holds for all tests."""

import signal

import pytest


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """Jobs in the background of a shell ignore SIGINT: tests that send it to themselves would never end."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
