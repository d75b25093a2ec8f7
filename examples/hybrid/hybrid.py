#!/usr/bin/env python3
"""A vertical job between two organisations, whose bottoms their own devices have trained horizontally before.

    python3 examples/hybrid/hybrid.py OUT [--coterie PROGRAM] [--simulate] [--rounds N] [--epochs N]
        [--times N]

OUT is a new folder; the README beside this file says what gets there. --simulate trains both bottoms by `coterie
simulate`, in one process each and without masks, in place of a server and 20 device processes each. The parties draw
their first weights anew in each job: --times repeats both kinds of vertical job, and the figures are means.
"""
import argparse
import csv
import gzip
import hashlib
import json
import pathlib
import random
import secrets
import statistics
import subprocess
import sys
import time

DIGITS = pathlib.Path(__file__).parents[1] / "digits" / "digits.csv.gz"
SIDE, DEVICES = 8, 20
# Rows of the digits, shuffled: each organisation's devices', those of the people whom both organisations know, and of
# those whom they score.
ROWS = {"left": slice(0, 600), "right": slice(600, 1200), "known": slice(1200, 1350), "scored": slice(1350, 1797)}
STRANGERS = 10  # people of a table whom the other organisation does not know
SPLIT = {"network": "mlp", "hidden": 32, "cut": 16, "top": 12, "batch": 16, "rate": 0.003}
LOCAL_EPOCHS, LEARNING_RATE = 4, 0.1
NAMES = {"label": "left", "feature": "right"}


def half(pixels, name):
    """Columns of the left or the right half, by name."""
    columns = range(SIDE // 2) if name == "left" else range(SIDE // 2, SIDE)
    return {f"r{row}c{column}": pixels[row * SIDE + column] for row in range(SIDE) for column in columns}


def write_table(path, rows):
    with (gzip.open(path, "wt", encoding="utf-8", newline="") if path.suffix == ".gz" else
          open(path, "w", encoding="utf-8", newline="")) as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def write_tables(out):
    """What devices have, and what organisations have of people. Returns whose digit is even, of those to be scored."""
    with gzip.open(DIGITS, "rt", encoding="utf-8") as file:
        digits = [[int(float(number)) for number in row] for row in csv.reader(file)]
    random.Random(20).shuffle(digits)
    for name in NAMES.values():
        write_table(out / f"{name}_devices.csv",
                    [half(digit, name) | {"digit": digit[-1]} for digit in digits[ROWS[name]]])
    for people in ("known", "scored"):
        rows = [(f"{people}-{number:03}", digit) for number, digit in enumerate(digits[ROWS[people]])]
        is_even = {person: digit[-1] % 2 == 0 for person, digit in rows}
        left = [{"id": person} | half(digit, "left") for person, digit in rows]
        if people == "known":
            left = [row | {"label": int(is_even[row["id"]])} for row in left]
        write_table(out / f"label_{people}.csv.gz", left[STRANGERS:])
        write_table(out / f"feature_{people}.csv.gz",
                    [{"id": person} | half(digit, "right") for person, digit in rows[:-STRANGERS]])
    return is_even


def make_certificates(out):
    """An authority, and a certificate a party: what a public key infrastructure would give."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=out, check=True, capture_output=True)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"]
    openssl("req", "-x509", *key, "-subj", "/CN=hybrid example", "-keyout", "ca.key", "-out", "ca.pem")
    for name in ("coordinator", "left", "right"):
        openssl("req", "-x509", *key, "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
                "-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", f"{name}.key", "-out", f"{name}.pem")


def tls(name):
    return {"ca": "ca.pem", "certificate": f"{name}.pem", "key": f"{name}.key"}


class Run:
    def __init__(self, options):
        self.out, self.program = options.out, options.coterie
        self.simulates, self.rounds, self.epochs = options.simulate, options.rounds, options.epochs

    def coterie(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.out, capture_output=True, text=True)
        if done.returncode != 0:
            command = ' '.join(map(str, arguments))
            sys.exit(f"coterie {command} ended with {done.returncode}:\n{done.stderr}{done.stdout}")
        return done.stdout + done.stderr

    def start(self, log, *arguments):
        with open(self.out / log, "w", encoding="utf-8") as file:
            return subprocess.Popen([self.program, *arguments], cwd=self.out, stdout=file, stderr=file)

    def write(self, name, value):
        (self.out / name).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")

    def write_manifest(self, job, kind, rows, more):
        """Its SHA-256."""
        name = f"manifest_{job}.json"
        self.write(name, {"kind": kind, "job": secrets.token_hex(16), "leakage_ack": rows,
                          "matching": {"salt": secrets.token_hex(32), "id_type": "person", "bucket_items": 65536,
                                       "intersection_min": 100},
                          "parties": NAMES} | more)
        return hashlib.sha256((self.out / name).read_bytes()).hexdigest()

    def train_bottom(self, name):
        """Horizontally, by the organisation's devices."""
        self.coterie("data", "make", f"csv:{name}_devices.csv?target=digit", "--devices", DEVICES,
                     "-o", f"{name}_shards")
        print(self.coterie("vertical", "bottom", "--manifest", "manifest_with.json",
                           "--contract", f"{name}_shards/contract.json", "-o", f"{name}_bottom.cotf"), end="")
        common = ["--data", f"{name}_shards", "--model", f"{name}_bottom.cotf", "--devices", DEVICES,
                  "--rounds", self.rounds, "--out", f"{name}_run"]
        if self.simulates:
            self.write("job.json", {"name": "bottom", "privacy": {"level": "masked"},
                                    "rounds": {"count": self.rounds, "goal_count": DEVICES, "over_selection": 1},
                                    "training": {"local_epochs": LOCAL_EPOCHS,
                                                 "optimizer": {"kind": "sgd", "learning_rate": LEARNING_RATE}}})
            self.coterie("simulate", "job.json", *common)
        else:
            self.coterie("demo", *common, "--fraction", 1, "--local-epochs", LOCAL_EPOCHS, "--lr", LEARNING_RATE,
                         "--security", "masked")
        summary = json.loads((self.out / f"{name}_run" / "summary.json").read_text(encoding="utf-8"))
        print(f"  {self.rounds} rounds of {DEVICES} devices; right about {100 * summary['accuracy']:.1f} % of digits "
              "that none had")

    def start_coordinator(self):
        self.write("coordinator.json", {"listen": "127.0.0.1:0", "port_file": "port", "jobs": "jobs",
                                        "tls": tls("coordinator")})
        process = self.start("coordinator.log", "vertical", "coordinator", "--config", "coordinator.json")
        while not (self.out / "port").exists():
            if process.poll() is not None:
                sys.exit((self.out / "coordinator.log").read_text(encoding="utf-8"))
            time.sleep(0.05)
        return process, (self.out / "port").read_text(encoding="utf-8").strip()

    def run_job(self, command, job, port, approved, more):
        """A vertical job, as the operators of both parties run it. `more`: what a party's configuration has beside."""
        for role, name in NAMES.items():
            self.write(f"{name}_{job}.json", {
                "role": role, "manifest": f"manifest_{job}.json", "approved": approved, "out": f"{name}_{job}",
                "coordinator": {"address": f"127.0.0.1:{port}", "name": "coordinator"},
                "tls": tls(name) | {"peer_name": NAMES["feature" if role == "label" else "label"]}} | more(role, name))
        self.coterie("vertical", "submit", "--config", f"left_{job}.json")
        for name in NAMES.values():
            self.coterie("vertical", "approve", "--config", f"{name}_{job}.json")
        parties = [self.start(f"{name}_{job}.log", "vertical", command, "--config", f"{name}_{job}.json")
                   for name in NAMES.values()]
        for process, name in zip(parties, NAMES.values()):
            if process.wait() != 0:
                sys.exit((self.out / f"{name}_{job}.log").read_text(encoding="utf-8"))

    def train_and_score(self, job, port, approved, has_bottoms, labels):
        """The AUC of the people whom nobody trained on."""
        def training(role, name):
            bottom = {"model": f"{name}_run/model.cotf", "contract": f"{name}_shards/contract.json"}
            return {"table": f"{role}_known.csv.gz"} | ({"bottom": bottom} if has_bottoms else {})
        self.run_job("party", job, port, approved, training)
        scoring = self.write_manifest(f"{job}_scores", "vertical_split_prediction", ["L1", "L12"], {"model": approved})
        self.run_job("predict", f"{job}_scores", port, scoring, lambda role, name: {
            "table": f"{role}_scored.csv.gz", "model": f"{name}_{job}/model.part"})
        with open(self.out / f"left_{job}_scores" / "scores.csv", encoding="utf-8", newline="") as file:
            return auc([(float(row["score"]), labels[row["id"]]) for row in csv.DictReader(file)])


def auc(scored):
    """The share of pairs of a person with label 1 and one with 0 in which the former has the higher score."""
    ones = [score for score, is_one in scored if is_one]
    zeros = [score for score, is_one in scored if not is_one]
    return sum((one > zero) + 0.5 * (one == zero) for one in ones for zero in zeros) / (len(ones) * len(zeros))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--coterie", default="coterie", help="the program")
    parser.add_argument("--simulate", action="store_true", help="devices in one process")
    parser.add_argument("--rounds", type=int, default=60, help="of each horizontal job")
    parser.add_argument("--epochs", type=int, default=10, help="of each vertical job")
    parser.add_argument("--times", type=int, default=1, help="that each vertical job is run")
    options = parser.parse_args()
    if min(options.rounds, options.epochs, options.times) < 1:
        parser.error("--rounds, --epochs and --times are at least 1")
    options.out.mkdir(parents=True)
    run = Run(options)
    labels = write_tables(options.out)
    make_certificates(options.out)
    kinds = {kind: [kind] + [f"{kind}_{number}" for number in range(2, options.times + 1)] for kind in ("with", "without")}
    approved = {job: run.write_manifest(job, "vertical_split", ["L1", "L8", "L12"],
                                        {"split": SPLIT | {"epochs": options.epochs}})
                for jobs in kinds.values() for job in jobs}
    for name in NAMES.values():
        run.train_bottom(name)
    coordinator, port = run.start_coordinator()
    try:
        areas = {kind: statistics.fmean(run.train_and_score(job, port, approved[job], kind == "with", labels)
                                        for job in jobs) for kind, jobs in kinds.items()}
    finally:
        coordinator.terminate()
        coordinator.wait()
    trained = json.loads((options.out / "left_with" / "report.json").read_text(encoding="utf-8"))["trained"]
    print(f"vertical jobs: {options.epochs} epochs on {trained} people whom both know"
          + (f", {options.times} times each" if options.times > 1 else ""))
    print("\npeople whom nobody trained on       AUC")
    print(f"bottoms that devices trained     {areas['with']:.4f}")
    print(f"fresh bottoms                    {areas['without']:.4f}")


if __name__ == "__main__":
    main()
