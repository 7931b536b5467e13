"""Every example in a docstring is true, every parameter is explained, and the types hold."""

import dataclasses
import doctest
import importlib
import importlib.metadata
import inspect
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import mixtura.onnx

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


def test_pyright_is_content():
    """Strictly, as far as scikit-learn, which has no types, lets it."""
    pytest.importorskip("pyright")
    if shutil.which("node") is None:
        pytest.skip("no node: pyright would fetch one")
    checked = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
        cwd=pathlib.Path(__file__).parent.parent,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout


def public_functions():
    """Every function of the package that a user may call, with the text that explains its parameters."""
    for name in mixtura.__all__:
        item = getattr(mixtura, name)
        if not inspect.isclass(item):
            yield name, item, item.__doc__
            continue
        if not dataclasses.is_dataclass(item) and item is not mixtura.Model:
            yield name, item.__init__, item.__doc__
        for method in dir(item):
            function = inspect.getattr_static(item, method)
            function = getattr(function, "__func__", function)
            module = getattr(function, "__module__", None) or item.__module__
            if method.startswith("_") or not callable(function) or not module.startswith("mixtura"):
                continue
            yield f"{name}.{method}", function, function.__doc__
    yield "onnx.register", mixtura.onnx.register, mixtura.onnx.register.__doc__


def test_every_parameter_is_documented():
    seen, missing = 0, []
    for name, function, text in public_functions():
        assert text, f"{name} has no docstring"
        section = re.search(r"\n *Parameters\n *-+\n(.*?)(\n *(Returns|Attributes|Examples)\n *-+\n|\Z)", text, re.DOTALL)
        # "a, b : type", and the same without a type; descriptions are indented further.
        told = set(re.findall(r"\w+", " ".join(re.findall(r"^ *([\w, \\]+?)(?: :|$)", section[1], re.MULTILINE)))) if section else set()
        for parameter in inspect.signature(function).parameters:
            if parameter not in ("self", "cls"):
                seen += 1
                missing += [] if parameter in told else [f"{name}: {parameter}"]
    assert not missing
    assert seen > 100


def test_the_licences_are_in_the_package():
    files = [str(file) for file in importlib.metadata.files("mixtura")]
    for licence in ("LICENSE-APACHE", "LICENSE-MIT"):
        assert any(".dist-info" in file and file.endswith(licence) for file in files), files
