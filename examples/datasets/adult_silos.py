#!/usr/bin/env python3
"""Adult, as LIBSVM's a9a has it, in two silos and a test part, as a table for Coterie.

    python3 examples/datasets/adult_silos.py FOLDER OUT

FOLDER has a9a_horizontal_p0, a9a_horizontal_p1 and a9a_horizontal_test: a line is a class, 0 or 1, and the columns that are 1.
OUT gets adult.csv, and silos.txt for `--split file:OUT/silos.txt`: each line's device, or held-out.
"""
import pathlib
import sys

COLUMNS = 123
PARTS = (("a9a_horizontal_p0", "1"), ("a9a_horizontal_p1", "2"), ("a9a_horizontal_test", "held-out"))


def row(line):
    """A line of LIBSVM as a line of the table."""
    label, *pairs = line.split()
    ones = {int(pair.split(":")[0]) for pair in pairs}
    return ",".join("1" if column in ones else "0" for column in range(1, COLUMNS + 1)) + f",{int(float(label) > 0)}"


def main(folder, out):
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "adult.csv", "w", encoding="utf-8") as table, open(out / "silos.txt", "w", encoding="utf-8") as silos:
        table.write(",".join(f"x{column}" for column in range(1, COLUMNS + 1)) + ",income\n")
        for name, device in PARTS:
            for line in pathlib.Path(folder, name).read_text(encoding="utf-8").splitlines():
                table.write(row(line) + "\n")
                silos.write(device + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
