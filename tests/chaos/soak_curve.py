#!/usr/bin/env python3
"""What a soak printed (soak_test.cc), as a drawing: disk, memory and descriptors over time.

    chaos_soak_nightly_test | tee soak.log
    python3 tests/chaos/soak_curve.py soak.log > docs/images/soak.svg
"""
import sys

COLUMNS = ["seconds", "rounds", "disk_bytes", "resident_bytes", "descriptors", "threads"]
MIB = 1 << 20
WIDTH, LEFT, RIGHT, PANEL, GAP, TOP = 960, 64, 24, 130, 44, 96
STYLE = """text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; font-size: 12px; fill: #1b2330; }
.paper { fill: #ffffff; }
.title { font-size: 20px; font-weight: 600; }
.heading { font-size: 14px; font-weight: 600; }
.soft { fill: #5d6778; }
.rule { stroke: #e4e8ee; }
.curve { fill: none; stroke: #2459c9; stroke-width: 2.25; stroke-linejoin: round; stroke-linecap: round; }"""


def read_looks(lines):
    """The rows below the heading, each as a dictionary."""
    looks, is_below = [], False
    for line in lines:
        words = line.split()
        if words == COLUMNS:
            is_below = True
        elif is_below and len(words) == len(COLUMNS) and all(word.isdigit() for word in words):
            looks.append(dict(zip(COLUMNS, map(int, words))))
    if len(looks) < 2:
        sys.exit("soak_curve: there are no two looks in this text; give it what the soak printed")
    return looks


def panel(looks, column, name, unit, top):
    """One curve above its axis; the axis begins at zero, so that what is flat looks flat."""
    divisor = MIB if unit == "MiB" else 1
    values = [look[column] / divisor for look in looks]
    high = max(values) * 1.15
    span = max(looks[-1]["seconds"], 1)
    points = " ".join(f"{LEFT + (WIDTH - LEFT - RIGHT) * look['seconds'] / span:.1f},{top + PANEL - PANEL * value / high:.1f}"
                      for look, value in zip(looks, values))
    digits = 1 if unit == "MiB" else 0
    yield f'<text class="heading" x="{LEFT}" y="{top - 10}">{name}</text>'
    for part in (0, 0.5, 1):
        y = top + PANEL - PANEL * part
        yield f'<line class="rule" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
        yield f'<text class="soft" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{high * part:.{digits}f}</text>'
    yield f'<polyline class="curve" points="{points}"/>'
    yield (f'<text class="soft" x="{WIDTH - RIGHT}" y="{top - 10}" text-anchor="end">'
           f'{values[0]:.{digits}f} at first, {max(values):.{digits}f} at most, {values[-1]:.{digits}f} {unit} at last</text>')


def draw(looks):
    panels = [("disk_bytes", "On disk", "MiB"), ("resident_bytes", "Resident memory", "MiB"),
              ("descriptors", "Descriptors", "")]
    height = TOP + len(panels) * (PANEL + GAP) + 24
    minutes = looks[-1]["seconds"] / 60
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">'
    yield f"<title>{looks[-1]['rounds']:,} rounds on one server</title>"
    yield f"<style>\n{STYLE}\n</style>"
    yield f'<rect class="paper" x="0" y="0" width="{WIDTH}" height="{height}"/>'
    yield f'<text class="title" x="{LEFT}" y="36">{looks[-1]["rounds"]:,} rounds on one server, {minutes:.0f} minutes</text>'
    for i, (column, name, unit) in enumerate(panels):
        yield from panel(looks, column, name, unit, TOP + i * (PANEL + GAP))
    yield f'<text class="soft" x="{LEFT}" y="{height - 20}">0</text>'
    yield f'<text class="soft" x="{WIDTH - RIGHT}" y="{height - 20}" text-anchor="end">{minutes:.0f} minutes</text>'
    yield "</svg>"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as printed:
        print("\n".join(draw(read_looks(printed))))
