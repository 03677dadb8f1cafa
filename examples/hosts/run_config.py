"""Runs the requests of Anneal on this machine, each at most once.

The journal is a folder. `ID.started` exists from before the start of a request, `ID.json` holds its answer. So a program that dies and
starts again repeats the answer of a request that has ended, and does not run one again that it may have started.
"""

import argparse
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

# The server keeps the end of longer streams, and refuses messages above 256 KiB.
STREAM_LIMIT = 64 * 1024


def read_arguments(description):
    """Returns the credentials, the journal and the seconds between heartbeats, from the command line of a host's program."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--access", required=True, help="the output of `anneal host credentials HOST -o json`")
    options.add_argument("--journal", required=True, help="a folder of this program that survives restarts")
    options.add_argument("--heartbeat", type=float, default=30, help="seconds between the messages of a host that has nothing to say")
    arguments = options.parse_args()
    return json.loads(Path(arguments.access).read_text()), Journal(arguments.journal), arguments.heartbeat


class Journal:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def answer(self, request, stop=None):
        """Runs the request unless the journal knows it, and returns its answer. Setting the event `stop` ends the config."""
        # The id is a UUID, which is safe as the name of a file.
        done = self.folder / f"{request['id']}.json"
        started = self.folder / f"{request['id']}.started"
        if done.exists():
            return json.loads(done.read_text())
        if started.exists():
            answer = failed("interrupted: the program of the host ended while the config ran")
        else:
            started.touch()
            answer = run(request, stop or threading.Event())
        answer["id"] = request["id"]
        whole = done.with_suffix(".new")
        whole.write_text(json.dumps(answer))
        whole.rename(done)
        return answer


def failed(error, status=1):
    return {"status_code": status, "error": error, "outputs": {}}


def run(request, stop):
    """Runs a config of the group `script`, as the agents of Anneal do."""
    if request["group"] not in ("script", "Heat::Ungrouped"):
        return failed(f"this host runs scripts only, not {request['group']}")
    with tempfile.TemporaryDirectory() as work:
        script = Path(work, "config")
        script.write_text(request["config"])
        script.chmod(0o700)
        environment = dict(os.environ, heat_outputs_path=f"{work}/output")
        for given in request["inputs"]:
            value = given["value"]
            environment[given["name"]] = value if isinstance(value, str) else json.dumps(value)
        command = [str(script)] if request["config"].startswith("#!") else ["/bin/sh", str(script)]
        try:
            # A session of its own, so that a signal reaches the children of the config too.
            config = subprocess.Popen(
                command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            return failed(f"cannot start it: {error}")
        end = time.monotonic() + request["timeout"] if "timeout" in request else None
        while True:
            try:
                stdout, stderr = config.communicate(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                is_late = end is not None and time.monotonic() > end
                if is_late or stop.is_set():
                    os.killpg(config.pid, signal.SIGKILL)
                    config.communicate()
                    if is_late:
                        return failed(f"it ran longer than its limit of {request['timeout']} s", status=124)
                    return failed("stopped: the server withdrew it", status=143)
        outputs = {path.name.removeprefix("output."): path.read_text() for path in Path(work).glob("output.*")}
        return {"status_code": config.returncode, "stdout": tail(stdout), "stderr": tail(stderr), "outputs": outputs}


def tail(stream):
    return stream[-STREAM_LIMIT:].decode(errors="replace")
