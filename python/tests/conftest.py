"""Data and a signal that several tests use."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from mixtura import generate


@pytest.fixture(scope="session")
def artificial():
    """Rows, labels and model of three components that run into each other a little."""
    return generate(3000, n_columns=3, n_components=3, separation=1.2, random_state=3)


@pytest.fixture(scope="session")
def rows(artificial):
    return artificial[0]


@pytest.fixture(scope="session")
def start(rows):
    """Arguments that fix the start of a fit."""
    means = rows[[5, 500, 1500]]
    return {"weights_init": np.full(3, 1 / 3), "means_init": means, "precisions_init": np.tile(np.eye(3), (3, 1, 1))}


class Interrupt:
    """Sends the signal of Ctrl-C to this process after some seconds, and notes the CPU time when it does."""

    def __init__(self, seconds):
        self.timer = threading.Timer(seconds, self.send)

    def send(self):
        self.sent = time.process_time()
        os.kill(os.getpid(), signal.SIGINT)

    def __enter__(self):
        # A parent may have told its children to ignore the signal.
        self.before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.timer.start()
        return self

    def __exit__(self, *_):
        self.timer.cancel()
        self.timer.join()
        signal.signal(signal.SIGINT, self.before)


@pytest.fixture
def interrupt_after():
    """`with interrupt_after(seconds)`: sends the signal of Ctrl-C during the block."""
    return Interrupt
