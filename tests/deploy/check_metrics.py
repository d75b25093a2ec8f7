#!/usr/bin/env python3
"""Every metric that the dashboard, the alerts and their tests name is one that the server has, with the labels it has.

Usage: check_metrics.py ROOT; prints file: what and why.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
OF_PROMETHEUS = {"job", "instance", "le"}  # labels that scraping, or a histogram, adds


def families():
    """The server's metrics: name -> whether it is a histogram, and its labels as the server's source sets them."""
    source = (ROOT / "fl_server/telemetry/metrics.cc").read_text()
    members = {}
    for member, builder, name in re.findall(
            r"(\w+) =\s*metric_family\(registry, Build(\w+)\(\), \"(\w+)\"", source, re.S):
        members[member] = [name, builder == "Histogram", set()]
    for member, labels in re.findall(r"\b(\w+)\.Add\(\{(\{.*?\})\}", source):
        members[member][2] |= set(re.findall(r'\{"(\w+)",', labels))
    known = {name: (is_histogram, labels) for name, is_histogram, labels in members.values()}
    known["coterie_build_info"] = (False, {"version"})
    known["up"] = (False, set())
    return known


def expressions():
    dashboard = ROOT / "deploy/grafana/coterie.json"
    document = json.loads(dashboard.read_text())
    for panel in document["panels"]:
        for target in panel.get("targets", []):
            yield dashboard, target["expr"]
    for variable in document["templating"]["list"]:
        if variable["type"] == "query":
            yield dashboard, variable["query"]["query"]
    for path in (ROOT / "deploy/prometheus/alerts.yml", ROOT / "tests/deploy/alerts_test.yml"):
        for line in path.read_text().splitlines():
            if "coterie_" in line or "up{" in line:
                yield path, line


def problems_of(expression, known):
    for name, selector in re.findall(r"\b((?:coterie|process)_\w+|up)\b(?:\{([^}]*)\})?", expression):
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        is_histogram, labels = known.get(base if base in known else name, (None, set()))
        if is_histogram is None:
            yield f"no metric {name}"
        elif is_histogram != (base != name):
            yield f"{name}: a histogram has _bucket, _sum and _count, and nothing else has"
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector):
            if label not in labels | OF_PROMETHEUS:
                yield f"{name} has no label {label}"


def main():
    known = families()
    found = [f"{path.relative_to(ROOT)}: {problem}" for path, text in expressions() for problem in problems_of(text, known)]
    for problem in found:
        print(problem)
    if len(known) < 15:
        print(f"only {len(known)} metrics were found in the source: has its form changed?")
        return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
