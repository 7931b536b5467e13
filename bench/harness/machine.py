"""Describes the machine and the versions of the measured software, without identifying the machine."""

import datetime
import os
import pathlib
import platform
import subprocess

from .places import ROOT

VECTOR_FLAGS = ["sse2", "avx", "avx2", "fma", "avx512f", "asimd", "sve"]


def machine():
    fields = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if pathlib.Path("/proc/cpuinfo").exists() else []:
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    flags = fields.get("flags", fields.get("Features", "")).split()
    processor = fields.get("model name", platform.processor() or platform.machine())
    # Machines in the cloud often share a name.
    if "cpu family" in fields and "model" in fields:
        processor += f" (family {fields['cpu family']}, model {fields['model']})"
    return {
        "processor": processor,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "vectors": [flag for flag in VECTOR_FLAGS if flag in flags],
        "memory_gigabytes": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
    }


def today():
    return datetime.date.today().isoformat()


def versions(program):
    kept = {"mixtura": f"{said([program, '--version']).split(' ')[-1]}{commit()}"}
    kept["rustc"] = (said(["rustc", "--version"]).split(" ") + ["", ""])[1]
    kept["Python"] = platform.python_version()
    return kept


def commit():
    revision = said(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"])
    if not revision:
        return ""
    changed = said(["git", "-C", str(ROOT), "status", "--porcelain", "--", "crates", "Cargo.toml", "Cargo.lock"])
    return f" ({revision}{', with changes' if changed else ''})"


def said(command):
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""
