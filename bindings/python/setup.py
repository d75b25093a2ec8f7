"""What pyproject.toml cannot say: a wheel carries libcoterie where one is at hand, and is then of this platform alone.

COTERIE_LIBRARY names it (CMake's target coterie_wheel does that); otherwise it is the one that build/release has, if this
folder is in Coterie's tree. Without one the package is pure, and looks for the library where it is used.
"""
import os
import shutil
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
# As coterie/_find.py looks for it beside the package.
NAME, BUILT = {"darwin": ("libcoterie.0.dylib", "libcoterie.dylib"), "win32": ("coterie.dll", "coterie.dll")}.get(
    sys.platform, ("libcoterie.so.0", "libcoterie.so"))


def library():
    named = os.environ.get("COTERIE_LIBRARY")
    found = Path(named) if named else HERE.parents[1] / "build" / "release" / "lib" / BUILT
    if named and not found.is_file():
        raise SystemExit(f"COTERIE_LIBRARY is {named}, and there is no such file")
    return found.resolve() if found.is_file() else None


class OfAPlatform(Distribution):
    def has_ext_modules(self):
        return library() is not None


class BuildPy(build_py):
    def run(self):
        super().run()
        if (found := library()) is not None:
            shutil.copy(found, Path(self.build_lib) / "coterie" / NAME)


class BdistWheel(bdist_wheel):
    def get_tag(self):
        python, abi, platform = super().get_tag()
        return (python, abi, platform) if self.root_is_pure else ("py3", "none", platform)  # of any Python


setup(cmdclass={"build_py": BuildPy, "bdist_wheel": BdistWheel}, distclass=OfAPlatform,
      package_data={"coterie": ["py.typed"]})
