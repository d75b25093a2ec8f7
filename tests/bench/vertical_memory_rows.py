"""./bench vertical_memory: what a matching of ten million ids takes of a party's memory and of the wire. Minutes."""
import json
import pathlib
import re
import subprocess
import tempfile

from rows import BIN, Failed, verdict

IDS = 10_000_000
SAMPLE_S = 2


def write_tables(folder):
    """Half of the people are in both."""
    label, feature = folder / "label.csv", folder / "feature.csv"
    with label.open("w") as out:
        out.write("id,label,x\n")
        out.writelines(f"c{10_000_000 + i},{i % 97},{i % 31}\n" for i in range(IDS))
    with feature.open("w") as out:
        out.write("id,y\n")
        out.writelines(f"c{10_000_000 + IDS // 2 + i},{i % 53}\n" for i in range(IDS))
    return label, feature


def party_peaks(run, peaks):
    """Notes the highest memory of each party's process, by the folder of its configuration."""
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            words = status.with_name("cmdline").read_bytes().split(b"\0")
            config = next((pathlib.Path(word.decode()) for word in words if word.startswith(bytes(run)) and word.endswith(b"config.json")), None)
            if config is None or b"party" not in words:
                continue
            peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        except OSError:
            continue  # it has ended meanwhile
        if peak:
            peaks[config.parent.name] = int(peak.group(1)) * 1024


def has_ended(process):
    try:
        process.wait(timeout=SAMPLE_S)
        return True
    except subprocess.TimeoutExpired:
        return False


def vertical_memory():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        label, feature = write_tables(folder)
        run, peaks = folder / "run", {}
        command = [BIN / "coterie", "vertical", "demo", "--model", "linear", "--label-table", label, "--feature-table", feature, "-o", run]
        demo = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
        while not has_ended(demo):
            party_peaks(run, peaks)
        if demo.returncode != 0:
            raise Failed(f"coterie vertical demo ended with {demo.returncode}")
        stages = {name: json.loads((run / name / "report.json").read_text())["stages"] for name in peaks}
        matching = {name: next(stage for stage in all_stages if stage["name"] == "matching") for name, all_stages in stages.items()}
    row = {"bench": "vertical_memory", "ids": IDS, "peaks_mb": {name: peak / 1e6 for name, peak in peaks.items()},
           "bytes_per_pair": sum(stage["bytes_sent"] for stage in matching.values()) / IDS,
           "seconds": max(stage["seconds"] for stage in matching.values())}
    highest = max(row["peaks_mb"].values())
    yield row, (f"a job whose parties match {IDS} ids each, peak memory of a party", f"{highest:.0f} MB",
                ", ".join(f"{name} {peak:.0f} MB" for name, peak in sorted(row["peaks_mb"].items())), "goal 1000 MB", verdict(highest <= 1000))
    yield None, ("    sent by both while they match, a pair of ids", f"{row['bytes_per_pair']:.1f} bytes", f"in {row['seconds']:.0f} s",
                 "goal 80 bytes", verdict(round(row["bytes_per_pair"], 1) <= 80))
