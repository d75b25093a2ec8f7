"""./bench micro: the C that `coterie model export --c` writes, on microcontrollers in QEMU (tests/micro/target_test.cc)."""
import re
import subprocess
import sys

from rows import ROOT, Failed, verdict

PROGRAM = ROOT / "build/release/tests/micro/micro_program_test"
CODE_GOAL = 12_000  # bytes of LeNet-5's inference
TRAINING_GOAL = 2  # times the inference's code
CLIENT_GOAL = 64 << 10  # bytes of a LeNet-5 that trains and takes part in rounds
KINDS = {"BuiltInModelsPredict": "predicts", "BuiltInModelsTrain": "trains", "Int8NetworksPredict": "int8, predicts"}


def networks(printed):
    """(target, network, kind) -> what the test printed of it: sizes in bytes, and counted instructions."""
    kind, found, shown = None, {}, None
    for line in printed.splitlines():
        if begun := re.match(r"\[ RUN +\] \S*OnTarget\.([A-Z]\w*?)(?:The|To)", line):
            kind = KINDS.get(begun.group(1))
        elif show := re.match(r"(\w+) (\w+): arena (\d+), parameters (\d+), predict (\d+) instructions, accumulate (\d+)", line):
            shown = (show.group(1), show.group(2), kind)
            found[shown] = dict(zip(("arena", "parameters", "predict", "accumulate"), map(int, show.groups()[2:])))
        elif (sizes := re.match(r"\s*(\d+)\s+(\d+)\s+(\d+)\s+\d+\s", line)) and shown:
            # Parameters lie beside the code, as constants.
            found[shown]["code"] = int(sizes.group(1)) - found[shown]["parameters"]
            found[shown]["ram"] = int(sizes.group(3))
            shown = None
    return {name: facts for name, facts in found.items() if name[2] and "code" in facts}


def micro():
    command = [str(PROGRAM), "--gtest_filter=*OnTarget*"]
    print("$ " + " ".join(command), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{PROGRAM.name} ended with {done.returncode}: the bits of a target differ from the reference's, or it does not run")
    found = networks(done.stdout)
    if not found:
        yield {"bench": "micro", "missing": "no target"}, ("C for microcontrollers", "not installed: gcc-arm-none-eabi qemu-system-arm "
                                                          "gcc-riscv64-unknown-elf qemu-system-misc", "", "", "not measured")
    for (target, network, kind), facts in found.items():
        counted = facts["accumulate" if kind == "trains" else "predict"]  # 0: the board has no timer that counts
        goal, ok, beside = "", "", f"{counted} instructions {'an example' if kind == 'trains' else 'a prediction'}" if counted else ""
        if network == "lenet5" and kind == "predicts":
            goal, ok = f"goal {CODE_GOAL} bytes", verdict(facts["code"] <= CODE_GOAL)
        if kind == "trains" and (target, network, "predicts") in found:
            times = facts["code"] / found[target, network, "predicts"]["code"]
            goal, ok = f"{times:.1f} times inference; goal {TRAINING_GOAL}", verdict(times <= TRAINING_GOAL)
        yield dict(facts, bench="micro", target=target, network=network, kind=kind), (
            f"C, {network}, {target}, {kind}", f"{facts['code']} bytes, RAM {facts['ram']}", beside, goal, ok)
    for target, code in re.findall(r"^(\w+): (\d+) bytes of code, the parameters' left out", done.stdout, re.M):
        yield {"bench": "micro", "target": target, "network": "lenet5", "kind": "takes part", "code": int(code)}, (
            f"C, lenet5, {target}, takes part in rounds", f"{code} bytes", "", f"goal {CLIENT_GOAL} bytes", verdict(int(code) < CLIENT_GOAL))
