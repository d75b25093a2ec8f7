#!/usr/bin/env python3
"""The vcpkg port and the Conan recipe fit this tree. Usage: check_recipes.py ROOT; prints file: what and why.

Neither tool is here. The files are parsed; their version, licence, dependencies and options are held against CMakeLists.txt and
docs/DEPENDENCIES.md; with Conan installed the recipe is loaded by it, too.
"""
import ast
import fnmatch
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
PORT = ROOT / "packaging/vcpkg/coterie"
RECIPE = ROOT / "packaging/conan/conanfile.py"
# docs/DEPENDENCIES.md's name of what is linked into libcoterie.so -> what the registries have of it.
VCPKG = {"Boost": {"boost-asio", "boost-beast"}, "FlatBuffers": {"flatbuffers"}, "Highway": {"highway"}, "libsodium": {"libsodium"},
         "OpenSSL": {"openssl"}, "GCC's runtime": set(), "glibc": set()}
CONAN = {"Boost": "boost", "FlatBuffers": "flatbuffers", "Highway": "highway", "libsodium": "libsodium", "OpenSSL": "openssl",
         "GCC's runtime": None, "glibc": None}
PROBLEMS = []


def expect(condition, where, what):
    if not condition:
        PROBLEMS.append(f"{where.relative_to(ROOT)}: {what}")


def linked_into_the_sdk():
    """library -> its version in Debian 12."""
    found = {}
    for line in (ROOT / "docs/DEPENDENCIES.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and "`libcoterie.so`" in cells[6]:
            found[cells[0]] = cells[3]
    return found



def check_options(where, text):
    known = {name for path in (ROOT / "CMakeLists.txt", ROOT / "cmake/CoterieDependencies.cmake", ROOT / "device_sdk/CMakeLists.txt")
             for name in re.findall(r"\b(COTERIE_\w+)", path.read_text())}
    named = set(re.findall(r"COTERIE_\w+", text))
    expect(named and named <= known, where, f"sets {sorted(named - known)}, which CMake does not know")
    expect("COTERIE_BUILD_SERVER" in named, where, "builds the server, too")


def check_vcpkg(version, libraries):
    where = PORT / "vcpkg.json"
    manifest = json.loads(where.read_text())
    expect(manifest["name"] == PORT.name, where, "a port has the name of its folder")
    expect(manifest["version"] == version, where, f"is of version {manifest['version']}, the tree of {version}")
    expect(manifest["license"] == "Apache-2.0", where, "names another licence than LICENSE")
    named = {entry if isinstance(entry, str) else entry["name"] for entry in manifest["dependencies"]}
    wanted = set().union(*(VCPKG[name] for name in libraries))
    expect({name for name in named if not name.startswith("vcpkg-")} == wanted, where, f"depends on {sorted(named)}, not {sorted(wanted)}")
    portfile = PORT / "portfile.cmake"
    text = portfile.read_text()
    expect(text.count("(") == text.count(")"), portfile, "has an open bracket")
    called = re.findall(r"^([a-z_]+)\(", text, re.M)
    for name in ("vcpkg_cmake_configure", "vcpkg_cmake_install", "vcpkg_cmake_config_fixup", "vcpkg_install_copyright"):
        expect(name in called, portfile, f"does not call {name}")
    source = (PORT / "../../..").resolve()
    expect(source == ROOT and '"${CMAKE_CURRENT_LIST_DIR}/../../.."' in text, portfile, "does not build the tree that it lies in")
    expect("PACKAGE_NAME Coterie" in text and "lib/cmake/Coterie" in text, portfile, "looks for another package than CMake installs")
    check_options(portfile, text)


def check_conan(version, libraries):
    text = RECIPE.read_text()
    recipe = next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    attributes = {node.targets[0].id: ast.literal_eval(node.value) for node in recipe.body if isinstance(node, ast.Assign)}
    methods = {node.name: node for node in recipe.body if isinstance(node, ast.FunctionDef)}
    expect(attributes["name"] == "coterie" and attributes["license"] == "Apache-2.0", RECIPE, "has another name or licence")
    expect({"set_version", "requirements", "generate", "build", "package", "package_info"} <= set(methods), RECIPE, "lacks a step")
    pattern = next(node.value for node in ast.walk(methods["set_version"]) if isinstance(node, ast.Constant) and "project" in str(node.value))
    read = re.search(pattern, (ROOT / "CMakeLists.txt").read_text())
    expect(read is not None and read.group(1) == version, RECIPE, "does not find the version in CMakeLists.txt")
    required = {call.args[0].value.split("/")[0] for call in ast.walk(methods["requirements"])
                if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "requires"}
    wanted = {CONAN[name] for name in libraries} - {None}
    expect(required == wanted, RECIPE, f"requires {sorted(required)}, not {sorted(wanted)}")
    # What a build without server and tests reads must be exported.
    exported = [node.value for node in ast.walk(methods["export_sources"]) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    folders = re.search(r"foreach\(folder (base[^)]*)\)", (ROOT / "CMakeLists.txt").read_text()).group(1).split()
    folders += re.search(r"foreach\(folder (aggregation[^)]*)\)", (ROOT / "CMakeLists.txt").read_text()).group(1).split()
    for path in [f"{folder}/CMakeLists.txt" for folder in folders] + ["LICENSE", "docs/DEPENDENCIES.md", "tools/dev/write_spdx.py"]:
        expect((ROOT / path).exists() and any(fnmatch.fnmatch(path, glob) for glob in exported), RECIPE, f"does not export {path}")
    check_options(RECIPE, text)
    if shutil.which("conan"):
        done = subprocess.run(["conan", "inspect", RECIPE], capture_output=True, text=True, check=False)
        expect(done.returncode == 0 and f"version: {version}" in done.stdout, RECIPE, f"conan inspect: {done.stdout}{done.stderr}")
    else:
        print("left out: conan is not installed")


VERSION = re.search(r"project\(coterie VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
LIBRARIES = linked_into_the_sdk()
check_vcpkg(VERSION, LIBRARIES)
check_conan(VERSION, LIBRARIES)
for problem in PROBLEMS:
    print(problem)
sys.exit(1 if PROBLEMS else 0)
