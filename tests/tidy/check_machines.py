#!/usr/bin/env python3
"""Machines defend themselves (ADR 27). Usage: check_machines.py [root]; prints path: what is wrong and what to do.

A machine is a class of a folder of machines that steps, that states invariants, or whose name says that it is one. Each
  * has `void check() const`, of sentences: COT_INVARIANT, and must_find where something must be there;
  * checks itself after its steps where builds check steps (StepCheck), or is checked by the machine that owns it;
  * is checked in a fuzz target of event sequences (tests/fuzz/*_events_target.cc) that CMake knows and that has seeds;
  * names what must be there in place of a bare .at();
  * has a row in the table of tests/README.md, with as many sentences as its check has, and where it is checked.
"""
import collections
import os
import re
import sys

FOLDERS = ["scheduler/", "fl_server/core/", "fl_server/serving/", "device_sdk/client/", "secure/secagg/", "vertical/coordinator/"]
NAMES = r"\w*(Machine|Desk|Tally|Trial|Keeper|Intake|Attempts|Cohorts|Rounds|Batcher|Table)"
STEPS = r"^  (?!return\b)[\w:<>]+ (step|next_deadline)\("
NO_MACHINE = {"CoordinatorServer", "ModelServer", "ServingService"}  # shells, which perform what a machine decides
TABLE = "tests/README.md"
ROW = re.compile(r"^\| `(?P<name>\w+)` \| `(?P<file>[\w/.]+)` \| (?P<count>\d+) \| (?P<steps>[^|]*) \| (?P<simulator>[^|]*) \| "
                 r"(?P<fuzz>[^|]*) \|$", re.MULTILINE)

Machine = collections.namedtuple("Machine", "name path body line")


def blank(text):
    """Without comments, line by line."""
    return re.sub(r"//[^\n]*", "", text)


def machines_of(texts):
    for path, text in sorted(texts.items()):
        if not path.endswith(".h") or not any(path.startswith(folder) for folder in FOLDERS):
            continue
        code = blank(text)
        for match in re.finditer(r"^class (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: : [^;{]+)? \{$", code, re.MULTILINE):
            body = code[match.end():]
            body = body[:body.find("\n};")]
            public = body.split("\n private:")[0]
            states = "void check() const;" in public
            if match[1] not in NO_MACHINE and (states or re.fullmatch(NAMES, match[1]) or re.search(STEPS, public, re.MULTILINE)):
                yield Machine(match[1], path, body, code.count("\n", 0, match.start()) + 1)


def bodies_of(name, sources):
    """Of all functions of the class, by their names: what they do."""
    found = {}
    for text in sources:
        for match in re.finditer(rf"^[^\n/#]*\b{name}::(\w+)\([^;{{]*\{{", text, re.MULTILINE):
            end = text.find("\n}\n", match.end())
            line = text.find("\n", match.end())
            body = text[match.end():line if text[match.end():line].rstrip().endswith("}") else end]
            found[match[1]] = found.get(match[1], "") + body
    return found


def sentences_of(bodies):
    checks = "".join(body for function, body in bodies.items() if function.startswith("check"))
    return len(re.findall(r"\bCOT_INVARIANT\(|\bmust_find\(", checks))


def variables_of(name, code):
    """Members and locals of this type, or pointers to one."""
    declared = rf"\b{name}\b[>&*]*(?:\s+)(\w+)\s*(?:[;{{(=]|$)|\bmake_unique<{name}>|emplace_back\(.*{name}"
    return {match[1] for match in re.finditer(declared, code, re.MULTILINE) if match[1]}


def checked_in(name, code):
    return any(re.search(rf"\b{variable}(?:->|\.)check\(\)", code) for variable in variables_of(name, code))


def owners_of(machines, texts):
    """By each machine's name those whose check has its check, directly or through another."""
    owners = {machine.name: set() for machine in machines}
    for owner in machines:
        checks = "".join(body for name, body in bodies_of(owner.name, sources_of(owner, texts)).items() if name.startswith("check"))
        for machine in machines:
            if machine.name != owner.name and re.search(rf"\b{machine.name}\b", owner.body) and re.search(r"[.>]check\(\)", checks):
                owners[machine.name].add(owner.name)
    for _ in machines:
        for name, above in owners.items():
            owners[name] = above.union(*(owners[owner] for owner in above))
    return owners


def in_owners(owners):
    return "in " + ", ".join(f"`{owner}`" for owner in owners) if owners else ""


def sources_of(machine, texts):
    stem = machine.path[:-len(".h")]
    return [blank(text) for path, text in texts.items() if path.endswith(".cc") and path.startswith(stem)]


def check(texts):
    machines = list(machines_of(texts))
    rows = {match["name"]: match for match in ROW.finditer(texts.get(TABLE, ""))}
    targets = {path: blank(text) for path, text in texts.items() if re.fullmatch(r"tests/fuzz/\w+_events_target\.cc", path)}
    cmake = texts.get("tests/fuzz/CMakeLists.txt", "")
    seeded = {path.split("/")[3] for path in texts if path.startswith("tests/fuzz/corpus/")}
    simulator = "".join(blank(text) for path, text in texts.items() if path.startswith("tests/simulation/"))
    owners = owners_of(machines, texts)
    problems = []
    for machine in machines:
        name, where = machine.name, f"{machine.path}:{machine.line}: {machine.name}"
        sources = sources_of(machine, texts)
        bodies = bodies_of(name, sources)
        count = sentences_of(bodies)
        if "void check() const;" not in machine.body or count == 0:
            problems.append(f"{where}: states no invariants: give it `void check() const`, each of them a sentence (ADR 27)")
            continue
        above = sorted(owners[name])
        if "StepCheck" not in machine.body and not above:
            problems.append(f"{where}: nothing checks it after a step: give it a StepCheck (base/assert.h)")
        for path in [machine.path, *(path for path in texts if path.startswith(machine.path[:-2]) and path.endswith(".cc"))]:
            for number, line in enumerate(blank(texts[path]).splitlines(), 1):
                if ".at(" in line:
                    problems.append(f"{path}:{number}: a bare .at(): must_find says what is not there")
        named = [path for path, code in targets.items() if checked_in(name, code)]
        fuzz = sorted(path.split("/")[-1][:-len("_target.cc")] for path in named)
        inside = sorted({other for other in above if any(checked_in(other, code) for code in targets.values())})
        if not fuzz and not inside:
            problems.append(f"{where}: no fuzz target checks it: add tests/fuzz/X_events_target.cc, which steps it by its bytes")
        for target in fuzz:
            if not re.search(rf"coterie_fuzz\({target}\b", cmake):
                problems.append(f"tests/fuzz/{target}_target.cc: CMake does not know it: add coterie_fuzz({target} ...)")
            if target not in seeded:
                problems.append(f"tests/fuzz/{target}_target.cc: has no seeds: add it to EVENT_TARGETS of make_seeds.py, and run that")
        simulated = [other for other in above if checked_in(other, simulator)]
        expected = {"file": machine.path, "count": str(count),
                    "steps": "by itself" if "StepCheck" in machine.body else in_owners(above),
                    "simulator": "yes" if checked_in(name, simulator) else in_owners(simulated),
                    "fuzz": ", ".join(f"`{target}`" for target in fuzz) or in_owners(inside)}
        row = rows.pop(name, None)
        line = f"| `{name}` | `{machine.path}` | {count} | {expected['steps']} | {expected['simulator']} | {expected['fuzz']} |"
        if row is None or any(row[field].strip() != value for field, value in expected.items()):
            problems.append(f"{TABLE}: the row of {name} is not what the code has: {line}")
    problems += [f"{TABLE}: {name} has a row, and is no machine: take it out" for name in rows]
    return len(machines), problems


def read(root):
    texts = {}
    for folder in [*FOLDERS, "tests/fuzz/", "tests/simulation/"]:
        for place, folders, files in os.walk(os.path.join(root, folder)):
            folders.sort()
            for name in files:
                path = os.path.relpath(os.path.join(place, name), root)
                if path.startswith("tests/fuzz/corpus/"):
                    texts[path] = ""
                elif name.endswith((".h", ".cc", ".txt")):
                    with open(os.path.join(root, path), encoding="utf-8") as file:
                        texts[path] = file.read()
    with open(os.path.join(root, TABLE), encoding="utf-8") as file:
        texts[TABLE] = file.read()
    return texts


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    count, problems = check(read(root))
    for problem in problems:
        print(problem)
    print(f"{count} machines, {len(problems)} problems")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
