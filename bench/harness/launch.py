"""Runs a command and writes its exit code, seconds and peak memory in bytes to a file.

A process of its own, because a command's peak memory begins at that of the process that started it,
and the harness holds data.
"""

import os
import sys
import time


def main():
    report, *command = sys.argv[1:]
    begin = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - begin
    with open(report, "w") as file:
        print(os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss * 1024, file=file)


if __name__ == "__main__":
    main()
