"""A machine for the commands of docs/operating: folders in the place of /var and /etc, systemctl, programs, PostgreSQL."""
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

PATIENCE_S = 120
FOLDERS = ("/var/lib/coterie", "/var/backups/coterie", "/etc/coterie", "/mnt/coterie")
# systemctl is the one word that is not the real one: there is no systemd where tests run. What it is told, it does.
SYSTEMCTL = """#!/bin/bash
# systemctl VERB fl_server
set -euo pipefail
pid=$(cat "$SITE/pid" 2>/dev/null || true)
[ "$2" = fl_server ] || { echo "no unit $2" >&2; exit 5; }
stop() {
  if [ -n "$pid" ] && kill -TERM "$pid" 2>/dev/null; then tail -s 0.05 --pid="$pid" -f /dev/null; fi
  rm -f "$SITE/pid"
}
start() {
  : > "$SITE/log"
  setsid fl_server --config "$SITE/etc/coterie/fl_server.json" >> "$SITE/log" 2>&1 < /dev/null & echo $! > "$SITE/pid"
  grep -q -m1 '"server_started"' < <(tail -s 0.05 --pid=$! -n +1 -f "$SITE/log") || { cat "$SITE/log" >&2; exit 1; }
}
case $1 in stop) stop ;; start) start ;; restart) stop; start ;; reload) kill -HUP "$pid" ;; *) exit 2 ;; esac
"""


class Blocks:
    """The fenced shell commands of pages in a folder. `sh runnable=NAME`: to be run; `sh not-run: WHY`: not."""

    def __init__(self, folder: Path, pages: list[str]):
        self.runnable, self.not_run, self.ran = {}, [], set()
        for page in pages:
            document = folder / f"{page}.md"
            for mark, body in re.findall(r"^```([^\n]+)\n(.*?)^```$", document.read_text(encoding="utf-8"), re.M | re.S):
                if name := re.fullmatch(r"sh runnable=([\w-]+)", mark):
                    assert name[1] not in self.runnable, f"two blocks are called {name[1]}"
                    self.runnable[name[1]] = body
                elif why := re.fullmatch(r"sh not-run: (\S.{10,})", mark):
                    self.not_run.append(why[1])
                else:
                    raise AssertionError(f"{document}: a block is neither runnable nor says why not: {mark}")
        assert self.runnable, f"{folder}: none of {pages} has a block to run"


class Postgres:
    """A PostgreSQL of this test's own, on a socket in its folder; fsync is off."""

    programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name), default=None)

    def __init__(self, folder: Path):
        user = pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
        folder.mkdir()
        os.chown(folder, user.pw_uid, user.pw_gid)
        become = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        subprocess.run([self.programs / "initdb", "-D", folder / "data", "-A", "trust", "-U", "coterie", "--no-sync",
                        "-E", "UTF8", "--locale=C"], check=True, stdout=subprocess.DEVNULL, cwd=folder, **become)
        words = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB"]
        self.process = subprocess.Popen([self.programs / "postgres", "-D", folder / "data", "-k", folder, *words],
                                        cwd=folder, stderr=subprocess.PIPE, text=True, **become)
        for line in self.process.stderr:
            if "ready to accept connections" in line:
                break
        self.conninfo = f"host={folder} user=coterie dbname=postgres"

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()


class Site:
    def __init__(self, root: Path, fl_server: str, coterie: str, blocks: Blocks | None, store):
        self.root, self.blocks = root, blocks
        self.data, self.etc, self.backups = root / "var/lib/coterie", root / "etc/coterie", root / "var/backups/coterie"
        for folder in (root / "bin", root / "work", root / "mnt/coterie", self.data, self.etc / "tls"):
            folder.mkdir(parents=True)
        (root / "bin/fl_server").symlink_to(fl_server)
        (root / "bin/coterie").symlink_to(coterie)
        (root / "bin/systemctl").write_text(SYSTEMCTL)
        (root / "bin/systemctl").chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{root / 'bin'}:{os.environ['PATH']}", "SITE": str(root)}
        self.configure({"data_dir": str(self.data), "device": {"address": "127.0.0.1", "port": 0}, "admin": {"port": 0},
                        **store(root)})

    def configure(self, config: dict):
        (self.etc / "fl_server.json").write_text(json.dumps(config))

    def start(self, *, fresh=True):
        """The first start; later ones have its ports, so that devices find the server again."""
        self.shell("systemctl start fl_server")
        if "node" in json.loads((self.etc / "fl_server.json").read_text()):
            self.wait_for_log('"server_leads"')  # it stands by until then
        if fresh:
            ends = json.loads((self.data / "endpoints.json").read_text())
            config = json.loads((self.etc / "fl_server.json").read_text())
            config["device"]["port"] = int(ends["device_url"].rsplit(":", 1)[1])
            config["admin"]["port"] = int(ends["admin_url"].rsplit(":", 1)[1])
            self.configure(config)
            self.url, self.ca = ends["device_url"], ends["ca_file"]

    def shell(self, commands: str, *, fails=False) -> str:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=self.root / "work",
                              env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        said = f"{commands}\nexit {done.returncode}\n{done.stdout}{done.stderr}\n{self.log()[-3000:]}"
        assert (done.returncode != 0) == fails, said
        return done.stdout + (done.stderr if fails else "")

    def run(self, name: str, *, fails=False, **words: str) -> str:
        """A block of the document, with this site's folders and these words in the place of what they stand for."""
        commands = self.blocks.runnable[name]
        for folder in FOLDERS:
            commands = commands.replace(folder, str(self.root) + folder)
        for word, value in words.items():
            assert re.search(rf"\b{word}\b", commands), f"{name} does not have {word}"
            commands = re.sub(rf"\b{word}\b", value, commands)
        self.blocks.ran.add(name)
        return self.shell(commands, fails=fails)

    def coterie(self, words: str, *, fails=False):
        out = self.shell(f"coterie --data-dir {self.data} {words}", fails=fails)
        return json.loads(out) if words.endswith("-o json") else out

    def wait_for_log(self, text: str):
        pid = (self.root / "pid").read_text().strip()
        self.shell(f"grep -q -m1 -- '{text}' < <(timeout {PATIENCE_S} tail -s 0.05 --pid={pid} -n +1 -f {self.root}/log)")

    def log(self) -> str:
        path = self.root / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def take_part(self, name: str, token: str, samples: str, rounds=1):
        """So many rounds as a device, which is told apart by `name`."""
        return self.shell(f"coterie device run --server {self.url} --ca {self.ca} --token '{token}' --state-dir {name} "
                          f"--data {samples}/images.cotf --rounds {rounds} --security-level-min none")

    def close(self):
        try:
            self.shell("systemctl stop fl_server")
        finally:
            shutil.rmtree(self.root, ignore_errors=True)


def missing_programs() -> list[str]:
    return [name for name in ("sqlite3", "openssl", "jq", "bash") if not shutil.which(name)]


if __name__ == "__main__":
    sys.exit("run operating_test.py")
