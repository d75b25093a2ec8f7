"""The tables of docs/DEPENDENCIES.md as data, for those who compare them."""
import re

# Headings of the tables by their first and second cells.
USES = ("library", "for")
BUILD = ("library", "CMake")


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read_table(text, heading):
    """The rows below the heading, as dicts by column."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("|") and tuple(cells_of(line)[:2]) == heading:
            columns, rows = cells_of(line), []
            for row in lines[at + 2:]:
                if not row.startswith("|"):
                    break
                rows.append(dict(zip(columns, cells_of(row), strict=True)))
            return rows
    raise ValueError(f"no table begins with the columns {' and '.join(heading)}")


def names_in(cell):
    """What stands in backquotes, in order: `a`, `b` -> [a, b]; a dash is nothing."""
    return re.findall(r"`([^`]+)`", cell)
