#!/usr/bin/env python3
"""The bill of materials of a build: SPDX 2.3 as JSON (https://spdx.github.io/spdx-spec/v2.3/).

  write_spdx.py --page docs/DEPENDENCIES.md --version 0.1.0 --into fl_server --into coterie [--without protobuf] OUTPUT

A package for Coterie, and one for each library of the page's second table that one of the named programs links. Versions are
those that dpkg has installed; elsewhere they are left out. The same build writes the same bytes: the time is
SOURCE_DATE_EPOCH, or that of the page.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import urllib.parse
import uuid

import dependency_tables

NOBODY_SAID = "NOASSERTION"
# The digits of the demo are data in the program `coterie`.
DATA = {"coterie": "CC-BY-4.0"}


def installed_version(packages):
    """Of the first package that dpkg has; None without dpkg, or if it has none of them."""
    for package in packages:
        try:
            told = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}\n", package], capture_output=True,
                                  check=True, text=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        for line in told.stdout.splitlines():  # one an architecture
            if line.startswith("ii "):
                return line[3:]
    return None


def identifier(name):
    return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name)


def library_package(row, version_of):
    packages = dependency_tables.names_in(row["Debian 12"])
    version = version_of(packages)
    package = {"name": row["library"], "SPDXID": identifier(row["library"]), "downloadLocation": NOBODY_SAID,
               "filesAnalyzed": False, "licenseConcluded": row["licence"], "licenseDeclared": row["licence"],
               "copyrightText": NOBODY_SAID}
    if version:
        package["versionInfo"] = version
        package["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                    "referenceLocator": f"pkg:deb/debian/{packages[0]}@{urllib.parse.quote(version, safe='')}"}]
    return package


def document(rows, version, programs, left_out, time, version_of=installed_version):
    linked = [row for row in rows if row["library"] not in left_out
              and set(dependency_tables.names_in(row["linked into"])) & set(programs)]
    licences = ["Apache-2.0"] + sorted({DATA[program] for program in programs if program in DATA})
    ours = {"name": "coterie", "SPDXID": identifier("coterie"), "versionInfo": version, "downloadLocation": NOBODY_SAID,
            "filesAnalyzed": False, "licenseConcluded": " AND ".join(licences), "licenseDeclared": "Apache-2.0",
            "copyrightText": NOBODY_SAID}
    packages = [ours] + [library_package(row, version_of) for row in linked]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": ours["SPDXID"]}]
    for row in linked:
        relations.append({"spdxElementId": ours["SPDXID"], "relatedSpdxElement": identifier(row["library"]),
                          "relationshipType": "STATIC_LINK" if row["as"] in ("headers", "bundle") else "DYNAMIC_LINK"})
    content = hashlib.sha256(json.dumps([packages, relations], sort_keys=True).encode()).hexdigest()
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"coterie-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/coterie-{version}-{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: coterie-write_spdx"]},
            "packages": packages, "relationships": relations}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--into", action="append", required=True, help="a program that this build makes")
    parser.add_argument("--without", action="append", default=[], help="a library that this build leaves out")
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    rows = dependency_tables.read_table(options.page.read_text(encoding="utf-8"), dependency_tables.BUILD)
    unknown = set(options.without) - {row["library"] for row in rows}
    if unknown:
        parser.error(f"--without {', '.join(sorted(unknown))}: no such library in {options.page}")
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", options.page.stat().st_mtime))
    time = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    bill = document(rows, options.version, options.into, options.without, time)
    options.output.write_text(json.dumps(bill, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
