#!/usr/bin/env python3
"""The bill of materials of this build is SPDX 2.3, and true of its programs.

  check_spdx.py ROOT coterie.spdx.json READELF [NAME=PROGRAM ...]

* Shape: the members that the specification requires, identifiers that are unique, relationships between what is there,
  licences that are expressions of SPDX.
* Truth: each library that a program asks the loader for has a row in docs/DEPENDENCIES.md and a package here, and each shared
  library that a row says is linked into the program is asked for.
"""
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/dev"))
import dependency_tables  # noqa: E402

DOCUMENT = {"spdxVersion": r"SPDX-2\.3", "dataLicense": r"CC0-1\.0", "SPDXID": r"SPDXRef-DOCUMENT", "name": r"coterie-\d+\.\d+\.\d+",
            "documentNamespace": r"https://[^#\s]+-[0-9a-f-]{36}"}
PACKAGE = {"name": r".+", "SPDXID": r"SPDXRef-[A-Za-z0-9.-]+", "downloadLocation": r"NOASSERTION|https://\S+"}
LICENCE = r"[A-Za-z0-9.+-]+( WITH [A-Za-z0-9.-]+)?"
LICENCES = re.compile(rf"{LICENCE}( (AND|OR) {LICENCE})*")


def check_members(holder, members, name):
    for member, pattern in members.items():
        value = holder.get(member)
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            yield f"{name}: {member} is {value!r}, expected {pattern}"


def check_shape(bill):
    yield from check_members(bill, DOCUMENT, "the document")
    created = bill.get("creationInfo", {})
    yield from check_members(created, {"created": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}, "creationInfo")
    creators = created.get("creators", [])
    if not creators or not all(re.match(r"(Tool|Person|Organization): \S", creator) for creator in creators):
        yield f"creationInfo: creators is {creators!r}"
    ids = ["SPDXRef-DOCUMENT"]
    for package in bill.get("packages", []):
        name = f"the package {package.get('name')}"
        yield from check_members(package, PACKAGE, name)
        for member in ("licenseConcluded", "licenseDeclared"):
            if not LICENCES.fullmatch(package.get(member, "")):
                yield f"{name}: {member} is {package.get(member)!r}, which is no expression of SPDX"
        if package.get("versionInfo") == "":
            yield f"{name}: versionInfo is empty"
        ids.append(package.get("SPDXID"))
    for twice in sorted({one for one in ids if ids.count(one) > 1}):
        yield f"{twice} is there twice"
    described = [r for r in bill.get("relationships", []) if r.get("relationshipType") == "DESCRIBES"]
    if [(r.get("spdxElementId"), r.get("relatedSpdxElement")) for r in described] != [("SPDXRef-DOCUMENT", "SPDXRef-Package-coterie")]:
        yield f"the document describes {described!r}, expected Coterie alone"
    for relation in bill.get("relationships", []):
        for end in (relation.get("spdxElementId"), relation.get("relatedSpdxElement")):
            if end not in ids:
                yield f"a relationship names {end!r}, which is not there"
    related = {r.get("relatedSpdxElement") for r in bill.get("relationships", [])}
    for one in ids[1:]:
        if one not in related:
            yield f"{one} has no relationship"


def needed(text):
    """Names without versions of the libraries in what `readelf -d` prints."""
    return {name.split(".so")[0] for name in re.findall(r"\(NEEDED\).*\[([^\]]+)\]", text)}


def check_program(bill, rows, program, wanted):
    """What the program asks the loader for, against the rows and the packages."""
    packages = {package.get("name") for package in bill.get("packages", [])}
    of = {shared: row["library"] for row in rows for shared in dependency_tables.names_in(row["as"])}
    for shared in sorted(wanted):
        if shared not in of:
            yield f"{program} links {shared}, which no row of docs/DEPENDENCIES.md names"
        elif of[shared] not in packages:
            yield f"{program} links {shared}, but the bill has no package {of[shared]}"
    for row in rows:
        shared = dependency_tables.names_in(row["as"])
        if shared and program in dependency_tables.names_in(row["linked into"]) and row["library"] in packages \
                and not wanted & set(shared):
            yield f"docs/DEPENDENCIES.md: {program} does not link {row['library']}"
        if wanted & set(shared) and program not in dependency_tables.names_in(row["linked into"]):
            yield f"docs/DEPENDENCIES.md: {program} links {row['library']}, and its row does not say so"


def main():
    root, bill_path, readelf, *programs = sys.argv[1:]
    bill = json.loads(pathlib.Path(bill_path).read_text(encoding="utf-8"))
    rows = dependency_tables.read_table(pathlib.Path(root, "docs/DEPENDENCIES.md").read_text(encoding="utf-8"),
                                        dependency_tables.BUILD)
    problems = list(check_shape(bill))
    for program in programs:
        name, _, path = program.partition("=")
        told = subprocess.run([readelf, "-d", path], capture_output=True, check=True, text=True).stdout
        problems += check_program(bill, rows, name, needed(told))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
