"""The rows of `./bench console`: what the console takes in Chromium, before the server and the runs of a release build."""
import shutil

from rows import BIN, ROOT, rows_of, verdict

PAGE_MS_MAX, EVENT_MS_MAX, BUNDLE_KB_MAX, TASK_MS_MAX = 300, 200, 120, 50
FOLDER = ROOT / "build/bench-console"  # npm's packages, and the server with the job of 1,000 rounds: remove it to train them anew


def page(row):
    yield row, (f"console, a job of {row['rounds']} rounds: all charts and tables", f"{row['whole_ms']:.0f} ms",
                f"first paint {row['first_paint_ms']:.0f} ms", f"median of {row['loads']} loads; goal {PAGE_MS_MAX} ms", verdict(row["whole_ms"] <= PAGE_MS_MAX))
    yield None, ("    what it asks", f"{row['requests']:.0f} requests", f"{row['kb']:.0f} kB",
                 f"server CPU {row['server_cpu_ms']:.0f} ms, browser {row['browser_cpu_ms']:.0f} ms", "")
    yield None, ("    the program itself, gzip", f"{row['bundle_kb']:.0f} kB", "", f"goal {BUNDLE_KB_MAX} kB", verdict(row["bundle_kb"] <= BUNDLE_KB_MAX))


def event(row):
    for kind, what in (("accepted", "an update accepted"), ("done", "a round done")):
        seen = row[kind]
        yield (row if kind == "accepted" else None), (
            f"console, {what}: event to pixel", f"{seen['median_ms']} ms", f"on the way {seen['on_the_way_ms']} ms, at worst {seen['worst_ms']} ms",
            f"median of {seen['count']}; goal {EVENT_MS_MAX} ms", verdict(seen["count"] > 0 and seen["median_ms"] <= EVENT_MS_MAX))
    yield None, ("    what a round costs the server, with its training", f"{row['server_cpu_ms']:.0f} ms CPU", "", "", "")


def burst(row):
    seen = row["done"]
    yield row, ("    rounds that follow each other at once", f"{seen['median_ms']} ms", f"on the way {seen['on_the_way_ms']} ms, at worst {seen['worst_ms']} ms",
                "a page asks 4 times a second", "")


def scroll(row):
    yield row, (f"console, scrolling {row['rounds']} rounds of {row['devices']} devices", f"longest task {row['longest_task_ms']:.0f} ms",
                f"a frame {row['frame_ms']:.1f} ms, p99 {row['frame_p99_ms']:.1f} ms", f"none over {TASK_MS_MAX} ms", verdict(row["tasks_over_50_ms"] == 0))


LINES = {"page": page, "event": event, "burst": burst, "scroll": scroll}


def console():
    node = shutil.which("node") or shutil.which("nodejs")
    if node is None:
        yield None, ("console", "node is not installed", "", "", "not measured")
        return
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "chromium")
    for row in rows_of([node, ROOT / "tests/bench/console_page.mjs", chromium, BIN, FOLDER]):
        if "missing" in row:
            yield dict(row, bench="console"), ("console", row["missing"], "", "", "not measured")
        else:
            yield from LINES[row["what"]](row)
