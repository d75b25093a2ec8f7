#!/usr/bin/env python3
"""Debian's packages, as cpack is told to make them, and the one of the SDK, made. Usage: check_packages.py ROOT BUILD

The others are made by `tools/dev/make_packages.sh`: a debug build's would take minutes. Prints what is wrong and why.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
PROBLEMS = []
# What each package must name, whoever looks into its programs. `same`: of the same build.
DEPENDS = {"libcoterie-dev": ["libcoterie0 (= {version})", "libssl-dev", "libsodium-dev"]}
RECOMMENDS = {"coterie": ["coterie-server (= {version})"]}


def expect(condition, where, what):
    if not condition:
        PROBLEMS.append(f"{where}: {what}")


def variables():
    return dict(re.findall(r'^set\((\w+) "(.*?)"\)$', (BUILD / "CPackConfig.cmake").read_text(), re.M | re.S))


def installed_components():
    """Components that install rules name, of the whole build."""
    found = set()
    for path in BUILD.rglob("cmake_install.cmake"):
        found |= set(re.findall(r'CMAKE_INSTALL_COMPONENT STREQUAL "(\w+)"', path.read_text()))
    return found


def check_control(settings):
    components = settings["CPACK_COMPONENTS_ALL"].split(";")
    expect(installed_components() - {"license"} == set(components), "install rules",
           f"components {sorted(installed_components() ^ set(components))} are in no package, or in no rule")
    version = settings["CPACK_PACKAGE_VERSION"]
    for component in components:
        upper = component.upper()
        name = settings[f"CPACK_DEBIAN_{upper}_PACKAGE_NAME"]
        expect(re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name), name, "is no name of a Debian package")
        what = settings[f"CPACK_COMPONENT_{upper}_DESCRIPTION"].split("\n")
        expect(5 < len(what[0]) <= 60 and not what[0].endswith(".") and what[0][0].islower(), name, f"synopsis: {what[0]}")
        expect(all(line.startswith(" ") for line in what[1:]) and len(what) > 1, name, "has no description")
        for table, field in ((DEPENDS, "DEPENDS"), (RECOMMENDS, "RECOMMENDS")):
            for wanted in table.get(name, []):
                value = settings.get(f"CPACK_DEBIAN_{upper}_PACKAGE_{field}", "")
                expect(wanted.format(version=version) in value, name, f"{field} {value}: lacks {wanted}")


def check_scripts():
    scripts = sorted((ROOT / "deploy/debian").iterdir())
    for script in scripts:
        where = f"deploy/debian/{script.name}"
        expect(script.read_text().startswith("#!/bin/sh\n") and "\nset -e\n" in script.read_text(), where, "goes on after a failure")
        expect(script.stat().st_mode & 0o111, where, "may not be run")
        judge = ["shellcheck"] if shutil.which("shellcheck") else ["sh", "-n"]
        done = subprocess.run([*judge, script], capture_output=True, text=True, check=False)
        expect(done.returncode == 0, where, done.stdout + done.stderr)


def check_sdk_package(settings, folder):
    """Made in earnest: its dependencies are what dpkg-shlibdeps finds, its files are where Debian has them."""
    done = subprocess.run(["cpack", "-G", "DEB", "-B", folder, "-D", "CPACK_COMPONENTS_ALL=sdk", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip"],
                          cwd=BUILD, capture_output=True, text=True, check=False)
    made = sorted(folder.glob("*.deb"))
    expect(done.returncode == 0 and len(made) == 1, "cpack", f"{done.stdout[-800:]}{done.stderr[-800:]}")
    if len(made) != 1:
        return
    fields = dict(line.split(": ", 1) for line in subprocess.run(["dpkg-deb", "-f", made[0]], capture_output=True, text=True, check=True)
                  .stdout.splitlines() if ": " in line and not line.startswith(" "))
    what = settings["CPACK_COMPONENT_SDK_DESCRIPTION"].split("\n")[0]
    expect(fields["Description"] == what, made[0].name, f"its synopsis is {fields['Description']}, not {what}")
    expect(fields["Package"] == "libcoterie0" and fields["Version"].startswith(settings["CPACK_PACKAGE_VERSION"]), made[0].name, f"{fields}")
    for library in ("libc6", "libstdc++6", "libsodium23", "libssl3"):
        expect(library in fields.get("Depends", ""), made[0].name, f"does not depend on {library}: {fields.get('Depends')}")
    listed = subprocess.run(["dpkg-deb", "-c", made[0]], capture_output=True, text=True, check=True).stdout
    for path in ("./usr/lib/libcoterie.so.0", "./usr/share/doc/libcoterie0/copyright"):
        expect(path in listed, made[0].name, f"has no {path}:\n{listed}")
    expect("root/root" in listed and ".h" not in listed, made[0].name, f"has what is not its own:\n{listed}")


settings = variables()
check_control(settings)
check_scripts()
left_out = [tool for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps") if shutil.which(tool) is None]
if left_out:
    print(f"SKIPPED: no package was made: {', '.join(left_out)} not installed")
else:
    with tempfile.TemporaryDirectory(prefix="coterie-packages-") as temporary:
        check_sdk_package(settings, pathlib.Path(temporary))
for problem in PROBLEMS:
    print(problem)
sys.exit(1 if PROBLEMS else 0)
