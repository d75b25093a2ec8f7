"""The wheel: built without a network, complete, and imported from a folder of its own.

Usage: wheel_test.py [CMAKE BUILD_FOLDER]: builds it by the target coterie_wheel; exits with 77 without Debian's pip."""
import importlib.util
import os
import subprocess
import sys
import unittest
import zipfile
from pathlib import Path

import support  # first

CMAKE, BUILD = sys.argv[1:3]
if missing := [name for name in ("pip", "setuptools", "wheel") if not importlib.util.find_spec(name)]:
    print(f"skipped: install {' '.join('python3-' + name for name in missing)}")
    sys.exit(77)


class Wheel(support.Folder, unittest.TestCase):
    def test_has_the_library_and_works_where_it_is_installed(self):
        wheels = Path(BUILD) / "wheels"
        for old in wheels.glob("*.whl"):
            old.unlink()
        done = subprocess.run([CMAKE, "--build", BUILD, "--target", "coterie_wheel"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        wheel, = wheels.glob("*.whl")
        self.assertRegex(wheel.name, r"^coterie-\d+\.\d+\.\d+-py3-none-linux_\w+\.whl$")
        names = zipfile.ZipFile(wheel).namelist()
        sources = {f"coterie/{path.name}" for path in (support.ROOT / "bindings/python/coterie").iterdir() if path.is_file()}
        self.assertLessEqual(sources | {"coterie/py.typed", "coterie/libcoterie.so.0"}, set(names))
        self.assertFalse(any("pycache" in name for name in names))

        site = self.folder / "site"
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site, wheel],
                       check=True, capture_output=True)
        code = ("import coterie, sys\n"
                "print(coterie.__file__, coterie._lib._name, coterie.Model.load(sys.argv[1]))")
        environment = {**os.environ, **support.SANITIZER, "PYTHONPATH": str(site)}
        environment.pop("COTERIE_LIBRARY")
        done = subprocess.run([sys.executable, "-B", "-c", code, support.SAMPLES / "mlp.cotf"], env=environment, cwd=self.folder,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{site}/coterie/__init__.py {site}/coterie/libcoterie.so.0 <Model 'mlp'", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
