"""Runs commands of a Python program, each in a process of its own, without loading the program again for each.

Arguments: the program, e.g. `bin/openstack`; the prefix of the groups of entry points that its plugins register. Loads
them once, and runs each command in a fork: the command is the unmodified program in a fresh state. Reads one JSON object
a line: `argv`, the files for `stdout` and `stderr`, the limit in `seconds`. Answers each line with the exit `status` as
JSON; below 0 is the signal that ended the command, which is SIGALRM at the limit.
"""
import functools
import gc
import importlib.metadata
import json
import os
import runpy
import signal
import sys


def load(program, prefix):
    # Programs read their own name when they load.
    sys.argv = [program]
    # Each command reads the metadata of every package, and packages do not change meanwhile.
    importlib.metadata.packages_distributions = functools.cache(importlib.metadata.packages_distributions)
    importlib.metadata.packages_distributions()
    points = importlib.metadata.entry_points()
    for group in points.groups:
        for point in points.select(group=group) if group.startswith(prefix) else ():
            try:
                point.load()
            except Exception:
                pass  # The command that needs the plugin reports the failure.
    # The script runs `main` only under its own name.
    runpy.run_path(program, run_name="loaded")
    # Forks share the loaded objects; a collection would copy their pages.
    gc.collect()
    gc.freeze()


def become(program, command):
    """Runs a command in this process, which ends with it."""
    signal.alarm(command["seconds"])
    for number, path in ((1, command["stdout"]), (2, command["stderr"])):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.dup2(descriptor, 0)
    sys.argv = [program, *command["argv"]]
    runpy.run_path(program, run_name="__main__")


def serve(program):
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            become(program, json.loads(line))
            sys.exit()
        _, status = os.waitpid(child, 0)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    program, prefix = sys.argv[1:]
    load(program, prefix)
    print(json.dumps({"ready": True}), flush=True)
    serve(program)
