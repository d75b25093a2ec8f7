#!/usr/bin/env python3
"""The console's bundle is the same from two folders, and small. Usage: bundle_test.py SOURCES PACKAGES NODE"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

sources, packages, node = sys.argv[1:]


def bundle(folder):
    """The bundle, of copies of sources and packages in `folder`."""
    shutil.copytree(sources, folder / "console")
    shutil.copytree(packages, folder / "packages", symlinks=True, ignore=shutil.ignore_patterns("console_bundle.cc"))
    output = folder / "bundle.cc"
    said = subprocess.run([node, folder / "console" / "build.mjs", folder / "packages", output],
                          check=True, capture_output=True, text=True, cwd=folder).stdout
    return output.read_bytes(), int(said.split()[3])


with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
    deep = pathlib.Path(other) / "a" / "b"
    deep.mkdir(parents=True)
    (first, bytes_first), (second, _) = bundle(pathlib.Path(one)), bundle(deep)
if first != second:
    sys.exit("two folders gave two bundles")
if b"/tmp/" in first or not 10_000 < bytes_first <= 120_000:
    sys.exit(f"the bundle has {bytes_first} bytes; from 10,000 to 120,000 were expected")
print(f"{bytes_first} bytes")
