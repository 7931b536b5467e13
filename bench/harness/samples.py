"""Samples a program with perf, and determines the functions of each sample, innermost first.

A function is named `file::function` if it is mixtura's (`pass/worker.rs::soft`), inlined or not, by its
package if it is a dependency's (`rayon-core`), else by its symbol.
"""

import collections
import functools
import re
import struct
import subprocess
import time

from .environments import Unavailable
from .places import LOGS, ROOT, SCRATCH

SOURCE = "crates/mixtura/src/"
BEGIN, END = "rounds begin", "rounds end"
FREQUENCY = 997
# A few frames are enough to find the caller of a function of the C library or of a decomposition.
STACK_BYTES = 4096
FUNCTION = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?(?:const )?fn (\w+)")
FRAME = re.compile(r"^\s*([0-9a-f]+) (.*) \(([^()]*)\)$")


def record(command, environment):
    """Runs the command under perf; returns the begin and end times in seconds, read from its standard error."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    LOGS.mkdir(parents=True, exist_ok=True)
    data = SCRATCH / "perf.data"
    # The only event that is available on every machine, including virtual ones.
    sampling = ["perf", "record", "--event", "cpu-clock", "--freq", FREQUENCY, "--clockid", "CLOCK_MONOTONIC"]
    sampling += ["--call-graph", f"dwarf,{STACK_BYTES}", "--output", data, "--"]
    marks, said = {}, []
    with open(LOGS / "profile.log", "w") as log:
        process = subprocess.Popen(list(map(str, sampling + command)), stdout=log, stderr=subprocess.PIPE, text=True, env=environment)
        for line in process.stderr:
            marks[line.strip()] = time.clock_gettime(time.CLOCK_MONOTONIC)
            said.append(line.strip())
    if process.wait() or BEGIN not in marks or END not in marks:
        raise Unavailable(f"perf record failed: {said[-1] if said else 'no output'}")
    return data, marks[BEGIN], marks[END]


def stacks(data, program, begin, end):
    """Number of occurrences of each stack between the two times; a stack is a tuple of physical frames."""
    command = ["perf", "script", "--input", data, "--no-inline", "--fields", "time,ip,sym,dso"]
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise Unavailable(f"perf script failed: {done.stderr.strip()}")
    seen = collections.Counter()
    for sample in done.stdout.split("\n\n"):
        head, *lines = sample.strip("\n").split("\n")
        if not head.strip() or not begin <= float(head.strip().rstrip(":")) <= end:
            continue
        frames = []
        for line in lines:
            address, symbol, file = FRAME.match(line).groups()
            # A caller's address is that of the instruction after the call.
            here = int(address, 16) - (1 if frames else 0)
            frames.append((here if file == str(program) else None, symbol))
        seen[tuple(frames)] += 1
    return seen


def named(seen, program):
    """The same with every physical frame as (symbol, names of its functions, innermost first)."""
    addresses = sorted({address for stack in seen for address, _ in stack if address is not None})
    inlined = dict(zip(addresses, functions(program, addresses)))
    for stack, count in seen.items():
        yield [(symbol, inlined.get(address, [])) for address, symbol in stack], count


def functions(program, offsets):
    """For each position in the program file, the functions it belongs to, from the line tables."""
    segments = executable_segments(program)
    virtual = [next((offset - start + address for start, size, address in segments if start <= offset < start + size), 0) for offset in offsets]
    asked = "".join(f"{address:#x}\n" for address in virtual)
    # Names are taken from the sources, because addr2line gives the innermost function the name of the outermost.
    command = ["addr2line", "--addresses", "--inlines", "--exe", str(program)]
    said = subprocess.run(command, check=False, input=asked, capture_output=True, text=True)
    found = []
    for line in said.stdout.splitlines():
        if line.startswith("0x"):
            found.append([])
        else:
            found[-1].append(function_at(*re.match(r"(.*?):(\d+|\?)", line).groups()))
    if len(found) != len(offsets):
        raise Unavailable(f"addr2line failed: {said.stderr.strip()}")
    return [[name for name in names if name] for names in found]


def executable_segments(program):
    """(offset in the file, size, virtual address) of executable segments: perf uses file offsets."""
    image = program.read_bytes()
    if image[:5] != b"\x7fELF\x02":
        raise Unavailable("the program is no 64-bit ELF file")
    (table,) = struct.unpack_from("<Q", image, 32)
    size, n = struct.unpack_from("<HH", image, 54)
    headers = [struct.unpack_from("<IIQQQQ", image, table + i * size) for i in range(n)]
    loadable, executable = 1, 1
    return [(offset, length, address) for kind, flags, offset, address, _, length in headers if kind == loadable and flags & executable]


@functools.cache
def function_at(path, line):
    """The function name for a line of a source file; None for the standard library and for code without
    line information."""
    if SOURCE in path and line != "?":
        file = path.rpartition(SOURCE)[2]
        above = (FUNCTION.match(text) for text in reversed(source(file)[: int(line)]))
        return next((f"{file}::{found.group(1)}" for found in above if found), f"{file}::derived")
    if found := re.search(r"/registry/src/[^/]+/([\w-]+)-\d", path):
        return found.group(1)
    return None


@functools.cache
def source(file):
    return (ROOT / SOURCE / file).read_text().splitlines()
