#!/usr/bin/env python3
"""`mpirun coterie simulate`: the digest of one process with 1, 2 and 4 ranks; a rank that is killed ends the run with an
error that names it, and the checkpoint goes on to the same digest. Usage: mpirun_check.py coterie. 77: no MPI here."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
LIMIT_S = 240
ROUNDS = 12
ROUNDS_KILLED = 60  # a rank is killed long before the last
JOB = {"name": "mpi", "population": "default", "privacy": {"level": "none"},
       "rounds": {"count": ROUNDS, "goal_count": 4, "goal_count_min": 2, "over_selection": 1.0},
       "strategy": {"kind": "scaffold", "population_size": 6},
       "training": {"batch_size": 16, "local_epochs": 2, "optimizer": {"kind": "sgd", "learning_rate": .1}},
       "update": {"weight_max": 1}}
# A rank's libraries are MPI's, whose leaks are not ours. A container is root, has two cores and no network.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", ASAN_OPTIONS="detect_leaks=0")
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism",
          "none", "--mca", "plm", "isolated"]


def end_of(process):
    """What it writes until its end; after LIMIT_S mpirun is asked to end its ranks, too."""
    try:
        return process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.terminate()
        output, errors = process.communicate()
        raise AssertionError(f"not ended after {LIMIT_S} s:\n{output}\n{errors}") from None


class Simulations:
    def __init__(self, program, folder):
        self.folder, self.runs = folder, 0
        (folder / "job.json").write_text(json.dumps(JOB), encoding="utf-8")
        self.words = [program, "simulate", folder / "job.json", "--devices", "6", "--model", "logistic", "--threads", "1", "--events",
                      "--json", "--quiet"]

    def command(self, *more):
        self.runs += 1
        return [*self.words, "--out", self.folder / f"run{self.runs}", *more]

    def start(self, command, environment=ENVIRONMENT):
        return subprocess.Popen([str(word) for word in command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, cwd=self.folder)

    def start_ranks(self, ranks, *more):
        return self.start([*(MPIRUN + ["-n", str(ranks)] if ranks else []), *self.command(*more)])

    def refused(self, command, words, environment=ENVIRONMENT):
        process = self.start(command, environment)
        _, errors = end_of(process)
        assert process.returncode != 0 and words in errors, f"{process.returncode}: {errors}"

    def digest(self, ranks, *more):
        process = self.start_ranks(ranks, *more)
        output, errors = end_of(process)
        assert process.returncode == 0, f"{ranks} ranks: {process.returncode}\n{errors}"
        lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        assert "event" not in lines[-1], lines[-1]
        return lines[-1]["model_digest"], [line for line in lines if "event" in line]


def process_of_rank(folder, rank):
    """The id of this test's process with that rank."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if str(folder).encode() in (entry / "cmdline").read_bytes() and (
                    f"OMPI_COMM_WORLD_RANK={rank}".encode() in (entry / "environ").read_bytes().split(b"\0")):
                return int(entry.name)
        except OSError:
            pass
    raise AssertionError(f"no process has rank {rank}")


def main(program):
    if not shutil.which("mpirun") or not pathlib.Path(program).with_name("coterie-mpi.so").exists():
        print("skipped: there is no mpirun here, or the build has no coterie-mpi.so (apt: libopenmpi-dev, openmpi-bin)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        simulations = Simulations(program, pathlib.Path(name))
        begin = time.monotonic()
        alone, events = simulations.digest(0)
        assert len(events) == ROUNDS
        for ranks in (1, 2, 4):
            digest, events = simulations.digest(ranks)
            assert digest == alone, f"{ranks} ranks: {digest} and not {alone}"
            assert len(events) == ROUNDS, "rank 0 alone tells"
        simulations.refused([*MPIRUN, "-n", "1", *simulations.command(), ":", "-n", "1", *simulations.command("--split", "iid")],
                            "rank 1 has another simulation")
        simulations.refused(simulations.command(), "processes, and MPI of 1", dict(ENVIRONMENT, PMI_SIZE="3"))
        simulations.refused([*MPIRUN, "-n", "2", program, "sweep", "job.json", "--set", "training.local_epochs=1,2"], "start one")
        long = ("--rounds", str(ROUNDS_KILLED))
        alone, _ = simulations.digest(0, *long)
        process = simulations.start_ranks(2, "--checkpoint", "checkpoint", *long)
        process.stdout.readline()  # a round is done: all ranks are there
        killed = process_of_rank(name, 1)
        for _ in range(2):
            process.stdout.readline()
        os.kill(killed, signal.SIGKILL)
        _, errors = end_of(process)
        print(errors)
        assert process.returncode not in (0, None), process.returncode
        assert "rank 1" in errors and "is in checkpoint: " in errors and "--resume" in errors, errors
        assert (pathlib.Path(name) / "checkpoint/checkpoint.json").exists()
        digest, events = simulations.digest(4, "--checkpoint", "checkpoint", "--resume", *long)
        assert digest == alone and 0 < len(events) < ROUNDS_KILLED, f"{digest} after {len(events)} rounds"
        print(f"1, 2 and 4 ranks: {alone}; {ROUNDS_KILLED - len(events)} rounds before rank 1 was killed, {len(events)} behind it; "
              f"{time.monotonic() - begin:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
