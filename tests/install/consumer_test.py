#!/usr/bin/env python3
"""Programs outside of the tree, in C, C++, Java and Python, are built and run with what `cmake --install` left.

C and C++ by CMake and by pkg-config. Java where there is a JDK, Python where there is NumPy.

Usage: consumer_test.py ROOT BUILD SAMPLES CC CXX FLAGS LINK_FLAGS. FLAGS: of sanitizers, which the library's users must have too.
Each program trains the same ten steps, so all of them must write the same model.
"""
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT, BUILD, SAMPLES = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
CC, CXX, FLAGS, LINK_FLAGS = sys.argv[4:8]
LICENCE = (ROOT / "LICENSE").read_bytes()


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def install(prefix, *components):
    for component in components:
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", component)


def configure(folder, build, prefix, *options):
    flags = [f"-DCMAKE_{language}_FLAGS={FLAGS}" for language in ("C", "CXX")]
    return subprocess.run(["cmake", "-S", folder, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={CC}",
                           f"-DCMAKE_CXX_COMPILER={CXX}", *flags, f"-DCMAKE_EXE_LINKER_FLAGS={FLAGS} {LINK_FLAGS}", *options],
                          capture_output=True, text=True, check=False)


def by_cmake(folder, prefix):
    done = configure(folder, folder / "build", prefix)
    if done.returncode != 0:
        sys.exit(f"CMake does not find what is installed:\n{done.stderr}")
    run("cmake", "--build", folder / "build")
    return {name: folder / "build" / name for name in ("shared_c", "shared_cc", "static_c", "static_cc")}


def by_pkg_config(folder, prefix, module, environment):
    """In C alone: what differs from C++ is the header, which CMake's programs show."""
    said = run("pkg-config", "--cflags", "--libs", module, env=environment)
    program = folder / module
    run(CXX if "fsanitize" in FLAGS else CC, *shlex.split(FLAGS), *shlex.split(LINK_FLAGS), "-x", "c", "-std=c11", folder / "train.c",
        "-x", "none", *shlex.split(said), f"-Wl,-rpath,{prefix}/lib", "-o", program)
    return {module: program}


def sanitizer_first():
    """For programs that are not built with the library's sanitizer: its runtime must come first."""
    if "address" not in FLAGS:
        return {}
    runtime = run(CXX, "-print-file-name=libclang_rt.asan-x86_64.so").strip()
    return {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "handle_segv=0:detect_leaks=0"}


def by_java(folder, prefix):
    """The command that trains, or none where there is nothing to do it with."""
    if "thread" in FLAGS or not all(map(shutil.which, ("javac", "java"))) or not (BUILD / "lib/libcoterie_jni.so").exists():
        print("left out: Java (no JDK, or a sanitizer that a JVM does not stand)")
        return {}
    install(prefix, "java")
    jar = prefix / "share/java/coterie.jar"
    run("javac", "-cp", jar, "-d", folder, folder / "Train.java")
    return {"java": ["java", f"-Djava.library.path={prefix}/lib", "-cp", f"{jar}:{folder}", "Train"]}


def by_python(folder):
    python = next((path for path in ("/usr/bin/python3", sys.executable)
                   if subprocess.run([path, "-c", "import numpy"], capture_output=True, check=False).returncode == 0), None)
    if "thread" in FLAGS or python is None:
        print("left out: Python (no NumPy, or a sanitizer that Python does not stand)")
        return {}
    shutil.copytree(ROOT / "bindings/python/coterie", folder / "site/coterie", ignore=shutil.ignore_patterns("__pycache__"))
    return {"python": [python, "-B", folder / "train.py"]}


def needed(program):
    return run("readelf", "-d", program).count("[libcoterie.so.0]")


def trained(folder, name, command, environment):
    result = folder / f"{name}.cotf"
    run(*command, SAMPLES / "mlp.cotf", SAMPLES / "images.cotf", result, env=environment)
    return hashlib.sha256(result.read_bytes()).hexdigest()


def main(folder):
    first, prefix = folder / "first", folder / "prefix"
    install(first, "sdk", "dev", "license")
    first.rename(prefix)  # what is installed knows no path of where it was made or put
    licence = list(prefix.glob("share/doc/coterie/LICENSE"))
    if not licence or licence[0].read_bytes() != LICENCE:
        sys.exit("LICENSE is not installed")
    for text in [*prefix.rglob("*.cmake"), *prefix.rglob("*.pc")]:
        for foreign in (ROOT, BUILD, first):
            if str(foreign) in text.read_text():
                sys.exit(f"{text.relative_to(prefix)} names {foreign}")
    outside = folder / "consumer"
    shutil.copytree(ROOT / "tests/install/consumer", outside)
    for source in ("train.c", "train.cc", "Train.java", "train.py"):
        shutil.copy(ROOT / "examples/train" / source, outside)
    environment = {**os.environ, "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig", "LD_LIBRARY_PATH": ""}
    programs = by_cmake(outside, prefix)
    for module in ("coterie", "coterie-static"):
        programs |= by_pkg_config(outside, prefix, module, environment)
    for name, program in programs.items():
        if needed(program) != (0 if "static" in name else 1):
            sys.exit(f"{name} is linked as it should not be:\n{run('readelf', '-d', program)}")
    digests = {name: trained(outside, name, [program], environment) for name, program in programs.items()}
    environment |= {"PYTHONPATH": str(outside / "site"), "COTERIE_LIBRARY": str(prefix / "lib/libcoterie.so.0"), **sanitizer_first()}
    for name, command in (by_java(outside, prefix) | by_python(outside)).items():
        digests[name] = trained(outside, name, command, environment)
    if len(set(digests.values())) != 1:
        sys.exit(f"the same training gave other models: {digests}")
    refused = configure(outside, folder / "later", prefix, "-DWANTED=1.0")
    if refused.returncode == 0 or "version" not in refused.stderr:
        sys.exit(f"a project that asks for Coterie 1.0 got this one:\n{refused.stderr}")
    print(f"{len(digests)} programs ({', '.join(digests)}) trained the same model: {digests['shared_c'][:12]}")


with tempfile.TemporaryDirectory(prefix="coterie-consumer-") as temporary:
    main(pathlib.Path(temporary).resolve())
