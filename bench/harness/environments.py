"""Prepares the requirements of the peers: private Python environments, Debian packages, compiled programs."""

import os
import shutil
import subprocess
import sys

from .places import ENVIRONMENTS, LOGS, PEERS, PROGRAMS

# All versions in one place. `base` also contains the requirements of the harness itself: numpy for the
# judge and the calibration, pyarrow for the real data, matplotlib for the figure.
REQUIREMENTS = {
    "base": ["scikit-learn==1.9.*", "numpy", "pyarrow", "matplotlib"],
    "onedal": ["daal4py==2024.7.0", "scikit-learn==1.5.2", "numpy<2.2", "packaging"],
    "spark": ["pyspark==4.3.*", "numpy"],
}


class Unavailable(Exception):
    """Why a peer is not available."""


def run(command, log, **options):
    """Run a command with its output in a log file; `Unavailable` contains the last line if it fails."""
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / f"{log}.log"
    with open(path, "w") as sink:
        done = subprocess.run([str(part) for part in command], stdout=sink, stderr=subprocess.STDOUT, **options)
    if done.returncode:
        lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
        raise Unavailable(f"`{' '.join(map(str, command[:4]))} …` failed: {lines[-1] if lines else 'no output'}")


def python(name, install):
    """The interpreter of a private environment, created if it is missing and `install` is set."""
    folder = ENVIRONMENTS / name
    marker, interpreter = folder / "ready", folder / "bin" / "python"
    wanted = "\n".join(REQUIREMENTS[name])
    if not marker.exists() or marker.read_text() != wanted:
        if not install:
            raise Unavailable(f"its Python environment is not installed ({', '.join(REQUIREMENTS[name])})")
        print(f"installing {', '.join(REQUIREMENTS[name])}", file=sys.stderr)
        run([sys.executable, "-m", "venv", "--clear", folder], f"venv-{name}")
        run([interpreter, "-m", "pip", "install", *REQUIREMENTS[name]], f"pip-{name}")
        marker.write_text(wanted)
    return interpreter


def debian(packages, install):
    """Make sure that Debian packages are installed; missing ones are installed only as root."""
    if shutil.which("dpkg-query") is None:
        raise Unavailable(f"requires {', '.join(packages)}, which can only be installed automatically on Debian")
    missing = [package for package in packages if not installed(package)]
    if not missing:
        return
    if not install:
        raise Unavailable(f"Debian packages not installed: {', '.join(missing)}")
    if os.geteuid() != 0:
        raise Unavailable(f"Debian packages not installed: {', '.join(missing)} (run as root, or apt-get install them)")
    print(f"installing {', '.join(missing)}", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
    try:
        run(command, "apt-install", env=environment)
    except Unavailable:
        run(["apt-get", "update"], "apt-update", env=environment)
        run(command, "apt-install", env=environment)


def installed(package):
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    return subprocess.run(query, capture_output=True, text=True).stdout == "installed"


def java(install):
    if shutil.which("java") is None:
        debian(["default-jre-headless"], install)


def cpp(source, libraries, install):
    """Compile one of the C++ peers for this machine, if it is not up to date."""
    program, path = PROGRAMS / source.removesuffix(".cpp"), PEERS / source
    if not program.exists() or program.stat().st_mtime < path.stat().st_mtime:
        if not install:
            raise Unavailable(f"{source} is not compiled")
        PROGRAMS.mkdir(parents=True, exist_ok=True)
        run(["g++", "-O3", "-march=native", "-fopenmp", "-DNDEBUG", path, "-o", program, *libraries], f"g++-{source}")
    return program


def rust(crate, install):
    """Compile one of the Rust peers for this machine."""
    target = PROGRAMS / crate
    program = target / "release" / f"{crate}-peer"
    sources = [PEERS / crate / "Cargo.toml", *(PEERS / crate / "src").iterdir()]
    if not program.exists() or any(program.stat().st_mtime < source.stat().st_mtime for source in sources):
        if not install:
            raise Unavailable(f"peers/{crate} is not compiled")
        print(f"compiling {crate}", file=sys.stderr)
        environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "RUSTFLAGS": "-C target-cpu=native"}
        run(["cargo", "build", "--release"], f"cargo-{crate}", cwd=PEERS / crate, env=environment)
        os.utime(program)
    return program
