#!/usr/bin/env python3
"""The systemd units are closed, name what exists, and may write what their configurations write.

Usage: check_units.py ROOT FL_SERVER; prints file: what and why. Exit status 77: systemd-analyze could not judge them here.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT, FL_SERVER = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
FOLDER = ROOT / "deploy/systemd"
EXPOSURE_MAX = 3.0
SAMPLES = {"fl_server.service": ["fl_server.json"],
           "fl_server@.service": ["fleet_scheduler.json", "fleet_server.json", "fleet_serving.json"]}
PROBLEMS = []


def expect(condition, where, what):
    if not condition:
        PROBLEMS.append(f"{where}: {what}")


def settings(path):
    """Section -> key -> values in their order: systemd's files name a key more than once."""
    found = {}
    for line in path.read_text().splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), {})
        elif "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            section.setdefault(key, []).append(value)
    return found


def sandbox(path):
    text = path.read_text()
    return text[text.index("# What it may do"):text.index("[Install]")]


def written_by(sample):
    """Folders that a server with this configuration writes, beside its data directory, which the unit names."""
    config = json.loads((ROOT / "deploy" / sample).read_text())
    return [config[key] for key in ("keys_dir", "blobs_dir") if key in config]


def check_paths(name, unit):
    service = unit["Service"]
    may = [path.lstrip("-") for value in service.get("ReadWritePaths", []) for path in value.split()]
    for sample in SAMPLES[name]:
        for path in written_by(sample):
            expect(any(path == folder or path.startswith(folder + "/") for folder in may), name,
                   f"{sample} writes {path}, which ReadWritePaths does not name")
    data = json.loads((ROOT / "deploy" / SAMPLES[name][0]).read_text())["data_dir"]
    expect(data == "/var/lib/" + service["StateDirectory"][0].split("/")[0], name, f"{data} is not its StateDirectory")


def check_user(name, unit):
    user = unit["Service"]["User"][0]
    made = re.findall(r"^u (\S+)", (FOLDER / "coterie.sysusers").read_text(), re.M)
    expect(user in made, name, f"nobody makes its user {user}")
    for line in (FOLDER / "coterie.tmpfiles").read_text().splitlines():
        if not line.startswith("#"):
            _, path, mode, owner, group = line.split()
            expect({owner, group} <= {"root", user}, "coterie.tmpfiles", f"{path} is of {owner}:{group}")
            expect(int(mode, 8) & 0o007 == 0, "coterie.tmpfiles", f"{path} is open to all: {mode}")


def check_by_systemd(name):
    """How exposed systemd finds it, and whether it understands each line. Returns why it could not say."""
    if shutil.which("systemd-analyze") is None:
        return "systemd-analyze is not installed"
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / name.replace("@.", "@scheduler.")
        unit.write_text((FOLDER / name).read_text().replace("/usr/bin/fl_server", FL_SERVER))
        judged = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", unit], capture_output=True, text=True, check=False)
        level = re.search(r"Overall exposure level for \S+ (\d+\.\d+)", judged.stdout)
        if level is None:
            return f"systemd-analyze security --offline=true: {judged.stderr.strip() or 'no level'}"
        expect(float(level.group(1)) <= EXPOSURE_MAX, name, f"systemd finds it exposed to {level.group(1)}, above {EXPOSURE_MAX}")
        understood = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit], capture_output=True, text=True, check=False)
        expect(understood.returncode == 0 and understood.stderr == "", name, f"systemd-analyze verify: {understood.stderr}")
    return None


reasons = set()
for name in SAMPLES:
    unit = settings(FOLDER / name)
    check_paths(name, unit)
    check_user(name, unit)
    expect(sandbox(FOLDER / name) == sandbox(FOLDER / "fl_server.service"), name, "its sandbox is not that of fl_server.service")
    for sample in SAMPLES[name]:
        grace = json.loads((ROOT / "deploy" / sample).read_text()).get("shutdown_ms_max", 20000)
        expect(grace < int(unit["Service"]["TimeoutStopSec"][0]) * 1000, name, "is killed before it has drained")
    reasons.add(check_by_systemd(name))
for problem in PROBLEMS:
    print(problem)
if PROBLEMS:
    sys.exit(1)
if reasons - {None}:
    print("SKIPPED: " + "; ".join(sorted(reasons - {None})))
    sys.exit(77)
