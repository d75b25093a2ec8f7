#!/usr/bin/env python3
"""An AAR has what Android's build tools look for, and its library what its classes call. Usage: check_aar.py AAR NM"""
import io
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zipfile

NEEDED = {"AndroidManifest.xml", "R.txt", "classes.jar", "proguard.txt"}
ELF_MACHINES = {"x86_64": 62, "arm64-v8a": 183}
CLASSES = {"Client", "CoterieException", "Dataset", "Evaluation", "Example", "Examples", "Head", "Identity", "KeyAlgorithm", "Model",
           "ModelInfo", "Native", "Policy", "Progress", "Refusal", "SecurityLevel", "Tensor", "TrainMemory", "TrainOptions", "TrainProgress", "Trainer", "Transport"}


def exported(nm, library):
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(library)
        file.flush()
        listed = subprocess.run([nm, "-D", "--defined-only", file.name], capture_output=True, check=True, text=True)
    return {line.split()[-1] for line in listed.stdout.splitlines() if line.strip()}


def problems(aar, nm):
    names = {name for name in aar.namelist() if not name.endswith("/")}
    libraries = {name for name in names if re.fullmatch(r"jni/[^/]+/libcoterie_jni\.so", name)}
    for name in sorted(NEEDED - names):
        yield f"{name} is missing"
    for name in sorted(names - NEEDED - libraries):
        yield f"{name} does not belong there"
    if len(libraries) != 1:
        yield f"one library expected, found {sorted(libraries)}"

    manifest = xml.etree.ElementTree.fromstring(aar.read("AndroidManifest.xml"))
    if manifest.tag != "manifest" or manifest.get("package") != "org.coterie":
        yield "AndroidManifest.xml: not the manifest of org.coterie"

    jar = zipfile.ZipFile(io.BytesIO(aar.read("classes.jar")))
    classes = {name for name in jar.namelist() if name.endswith(".class")}
    for name in sorted(CLASSES):
        if f"org/coterie/{name}.class" not in classes:
            yield f"classes.jar: no org.coterie.{name}"
    for name in sorted(classes):
        if int.from_bytes(jar.read(name)[6:8], "big") > 52:
            yield f"classes.jar: {name} is newer than Java 8"
    for name in re.findall(r"class org\.coterie\.(\w+)", aar.read("proguard.txt").decode()):
        if name not in CLASSES:
            yield f"proguard.txt: there is no class {name}"

    constants = jar.read("org/coterie/Native.class")
    for path in libraries:
        library = aar.read(path)
        abi = path.split("/")[1]
        if library[:4] != b"\x7fELF" or int.from_bytes(library[18:20], "little") != ELF_MACHINES.get(abi):
            yield f"{path}: not a library of {abi}"
        symbols = exported(nm, library)
        natives = {name for name in symbols if name.startswith("Java_org_coterie_Native_")}
        for name in sorted(symbols - natives - {"JNI_OnLoad"}):
            yield f"{path}: exports {name}"
        if len(natives) < 30:
            yield f"{path}: only {len(natives)} native methods"
        for name in sorted(natives):
            if name.rsplit("_", 1)[1].encode() not in constants:
                yield f"{path}: Native.class knows no method for {name}"


def main():
    with zipfile.ZipFile(sys.argv[1]) as aar:
        found = list(problems(aar, sys.argv[2]))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
