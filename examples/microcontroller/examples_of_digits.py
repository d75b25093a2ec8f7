"""Writes examples.h: so many of the built-in digits, from one on, as a device has them in flash.

    python3 examples_of_digits.py digits.csv.gz NAME.h FIRST COUNT > examples.h
"""
import csv
import gzip
import sys

WHITE = 16

path, header, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with gzip.open(path, "rt") as file:
    rows = [[int(cell) for cell in row] for row in csv.reader(file)][first:first + count]
print(f'#include "{header}"\n#define CASE_EXAMPLES {len(rows)}')
print("static const int case_labels[CASE_EXAMPLES] = {" + ", ".join(str(row[-1]) for row in rows) + "};")
print(f"static const float case_inputs[CASE_EXAMPLES][{len(rows[0]) - 1}] = {{")
for row in rows:
    print("  {" + ", ".join(f"{pixel / WHITE}f" for pixel in row[:-1]) + "},")
print("};")
