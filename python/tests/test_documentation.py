"""Every example in a docstring is true, and the types are."""

import doctest
import importlib
import pathlib
import subprocess
import sys

import pytest

MODULES = ["mixtura", "mixtura._functions", "mixtura._gaussian", "mixtura._mixture", "mixtura._streams"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0 and found.attempted > 0


def test_stubs_tell_the_truth():
    pytest.importorskip("mypy")
    words = [sys.executable, "-m", "mypy.stubtest", "mixtura._mixtura"]
    checked = subprocess.run(words, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_types_hold():
    pytest.importorskip("mypy")
    settings = pathlib.Path(__file__).parent.parent / "pyproject.toml"
    words = [sys.executable, "-m", "mypy", "--config-file", str(settings)]
    checked = subprocess.run(words, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
