#!/usr/bin/env python3
"""The server's own alarms are those of deploy/prometheus/alerts.yml: names, severities, windows, thresholds, which counts, what to do.

Usage: check_alarms.py ROOT; prints what differs.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
UNSEEN = {"CoterieServerDown"}  # a server that is down does not say so
SECONDS = {"kAtOnce": 0, "s": 1, "m": 60, "h": 3600, "d": 86400, "minutes": 60, "hours": 3600}
# How a rule's expression has its floor f and its share s; w: its window in seconds.
FORMS = {
    "CoterieServerErrors": lambda f, s, w: [f"> {s:g} *"],
    "CoterieRoundsFail": lambda f, s, w: [f") > {f:g} and"],
    "CoteriePlansRefused": lambda f, s, w: [f"group_left {s:g} *"],
    "CoterieIsBehind": lambda f, s, w: [f") > {f / w:g}"],
    "CoterieCommitsAreSlow": lambda f, s, w: [f"histogram_quantile({1 - s:g},", f"> {slow_seconds():g}"],
    "CoterieUpdatesShed": lambda f, s, w: [],
    "CoterieAccuracyFell": lambda f, s, w: [f"- {f:g})"],
}


def text(path):
    return (ROOT / path).read_text()


def slow_seconds():
    return float(re.search(r"kSlowSeconds = (\S+);", text("fl_server/telemetry/alarm_counts.cc")).group(1))


def seconds(number, unit):
    return int(number) * SECONDS[unit]


def duration(code):
    found = re.fullmatch(r"(minutes|hours)\((\d+)\)", code)
    return seconds(found.group(2), found.group(1)) if found else SECONDS[code]


def own_rules():
    rules = {}
    quoted = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
    for found in re.finditer(
            r"AlarmRule\{\s*AlarmKind::\w+,\s*\"(\w+)\",\s*(\w+),\s*([\w()]+),\s*([\w()]+),\s*([\d.]+),\s*([\d.]+),\s*" +
            quoted + r",\s*" + quoted + r",\s*" + quoted + r"\}", text("fl_server/telemetry/alarm_rules.cc")):
        name, severity, window, hold, floor, share, _, action, guide = found.groups()
        joined = ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', part)) for part in (action, guide)]
        rules[name] = (severity, duration(window), duration(hold), float(floor), float(share), *joined)
    return rules


def alerts():
    for block in text("deploy/prometheus/alerts.yml").split("- alert: ")[1:]:
        expression = re.search(r"expr: (?:\|\n)?(.*?)\n        (?:for|labels):", block, re.S).group(1)
        hold = re.search(r"\n        for: (\d+)(\w)", block)
        yield (block.split("\n")[0], " ".join(expression.split()), seconds(*hold.groups()) if hold else 0,
               re.search(r"severity: (\w+)", block).group(1), re.search(r'action: "(.*)"', block).group(1))


def problems_of(name, expression, hold, severity, action, rule, counts):
    own_severity, window, own_hold, floor, share, own_action, guide = rule
    if (severity, hold, action) != (own_severity, own_hold, own_action):
        yield f"severity, for or action: {(severity, hold, action)}, and the server has {(own_severity, own_hold, own_action)}"
    for number, unit in re.findall(r"\[(\d+)(\w)\]", expression):
        if seconds(number, unit) != window:
            yield f"a window of {number}{unit}, and the server has {window} s"
    rest = re.sub(r"\[\d+\w\]|\"[^\"]*\"|0 \* sum", "", expression)
    for form in FORMS.get(name, lambda f, s, w: [f"> {f:g}"])(floor, share, window):
        if form not in rest:
            yield f"the expression lacks `{form}`, which the server has"
        rest = rest.replace(form, "")
    if re.search(r"\d", rest):
        yield f"a number in `{rest}` that the server does not have"
    for value in {one for quoted in re.findall(r"\"([^\"]*)\"", expression) for one in quoted.split("|")}:
        if re.sub(r"\.\*|\.\.", "", value) not in counts and value not in ("5..", "coterie"):
            yield f"the server does not know {value}"
    path, _, anchor = guide.partition("#")
    if not (ROOT / path).is_file():
        yield f"no chapter {path}"
    elif anchor and anchor not in {re.sub(r"[^\w -]", "", line.lstrip("# ")).lower().replace(" ", "-")
                                   for line in text(path).splitlines() if line.startswith("#")}:
        yield f"no heading {guide}"


def main():
    own, counts = own_rules(), set(re.findall(r'"([\w]+)"', text("fl_server/telemetry/alarm_counts.cc")))
    found = []
    names = set()
    for name, expression, hold, severity, action in alerts():
        names.add(name)
        if name in own:
            found += [f"{name}: {problem}" for problem in
                      problems_of(name, expression, hold, severity, action, own[name], counts)]
        elif name not in UNSEEN:
            found.append(f"{name}: the server has no such alarm")
    found += [f"{name}: alerts.yml has no such alert" for name in own if name not in names]
    if len(own) < 10:
        found.append(f"only {len(own)} rules were found in alarm_rules.cc: has its form changed?")
    reasons = re.search(r'plans_refused_total\{reason!~"([^"]*)"', text("deploy/prometheus/alerts.yml")).group(1)
    moment = re.search(r"kOfTheMoment = \{(.*?)\}", text("fl_server/telemetry/alarm_counts.cc"), re.S).group(1)
    if set(reasons.split("|")) != set(re.findall(r'"(\w+)"', moment)) | {"ledger_.*", ".*_budget"}:
        found.append("CoteriePlansRefused: other reasons are left out than kOfTheMoment has")
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
