"""What the tests of the Python package share. Imported first: it ends the process with 77 where NumPy is missing.

From the environment: COTERIE_LIBRARY and PYTHONPATH, as a user sets them; COTERIE_SAMPLES, what coterie-write-samples wrote;
COTERIE_PROGRAM and COTERIE_FL_SERVER, the programs of the build."""
import importlib.util
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

if not importlib.util.find_spec("numpy"):
    print("skipped: install python3-numpy")
    sys.exit(77)
# A sanitizer's runtime was for this process, and is for others that load the library: programs have their own.
SANITIZER = {name: os.environ.pop(name) for name in ("LD_PRELOAD", "ASAN_OPTIONS") if name in os.environ}

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = Path(os.environ.get("COTERIE_SAMPLES", ""))
PATIENCE_S = 120


def learnable(examples=96, seed=0):
    """Images of 4 x 4 and 3 classes, as samples/mlp.cotf takes them: the class is the brightest third."""
    random = np.random.default_rng(seed)
    labels = np.arange(examples) % 3
    images = 0.3 * random.random((examples, 4, 4, 1))
    images.reshape(examples, 16)[np.arange(16)[None] * 3 // 16 == labels[:, None]] += 0.7
    return images.astype(np.float32), labels


class Folder:
    """For a test case: self.folder is new and empty, and goes with the test."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Server:
    """A real fl_server on ports of its own choice."""

    def __init__(self, folder: Path):
        self.data = folder / "data"
        config = folder / "server.json"
        config.write_text(json.dumps({"data_dir": str(self.data), "device": {"address": "127.0.0.1", "port": 0},
                                      "admin": {"port": 0}}))
        self.process = subprocess.Popen([os.environ["COTERIE_FL_SERVER"], "--config", config], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.seen, lines = [], queue.Queue()
        self.reader = threading.Thread(target=self.read, args=(lines,), daemon=True)
        self.reader.start()
        while (line := lines.get(timeout=PATIENCE_S)) is not None:
            if '"server_started"' in line:
                break
        else:
            raise AssertionError("fl_server ended:\n" + "".join(self.seen))
        endpoints = json.loads((self.data / "endpoints.json").read_text())
        self.url, self.ca, self.admin_url = endpoints["device_url"], endpoints["ca_file"], endpoints["admin_url"]

    def read(self, lines):
        for line in self.process.stdout:
            self.seen.append(line)
            lines.put(line)
        lines.put(None)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
