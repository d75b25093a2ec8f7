#!/usr/bin/env python3
"""What the documents promise and the code decides must agree. Usage: check_docs.py [root]; prints file: what and why."""
import json
import pathlib
import re
import sys

CONFIGURATION, OBSERVABILITY = "docs/operating/configuration.md", "docs/operating/observability.md"
ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def differences(where, documented, real, what):
    for name in sorted(real - documented):
        yield f"{where}: {what} {name} is not documented"
    for name in sorted(documented - real):
        yield f"{where}: {what} {name} does not exist"


def admin_routes():
    """docs/openapi.json has the routes of the admin plane: method, path, operation, summary, and who may."""
    table = text("fl_server/admin_api/routes.cc")
    roles = {name: [role.strip().rstrip("_") for role in body.split(",")]
             for name, body in re.findall(r"constexpr RoleSet (\w+) = \{([^}]*)\};", table)}
    rows = re.findall(r'\{"([A-Z]+)", "([^"]*)",\s*"(\w+)",\s*"([^"]*)",\s*(\w+)', table)
    if not rows or len(rows) != len(re.findall(r"^    \{", table, re.M)):
        yield "fl_server/admin_api/routes.cc: there are rows of kRoutes that check_docs.py cannot read"
    real = {(m, path, operation, summary, "" if who == "kOpen" else " ".join(roles[who])) for m, path, operation, summary, who in rows}
    documented = {
        (method.upper(), path, entry["operationId"], entry["summary"], " ".join(entry.get("x-coterie-roles", [])))
        for path, item in json.loads(text("docs/openapi.json"))["paths"].items()
        for method, entry in item.items()
        if method != "parameters"
    }
    yield from differences("docs/openapi.json", {" | ".join(r) for r in documented}, {" | ".join(r) for r in real}, "route")
    for path, item in json.loads(text("docs/openapi.json"))["paths"].items():
        for method, entry in item.items():
            if method != "parameters" and ("x-coterie-roles" in entry) == (entry.get("security") == []):
                yield f"docs/openapi.json: {method.upper()} {path} is either open (security: []) or has x-coterie-roles"


def device_routes():
    """docs/PROTOCOL.md names every route of the device plane, with its method, and no other."""
    table = text("fl_server/device_api/device_routes.cc")
    real = set(re.findall(r'^    \{"([A-Z]+)", "(/[^"]*)"', table, re.M))
    if not real or len(real) != len(re.findall(r"^    \{", table, re.M)):
        yield "fl_server/device_api/device_routes.cc: there are rows of kRoutes that check_docs.py cannot read"
    real = {f"{method} {path}" for method, path in real if path != "/healthz"}
    documented = set(re.findall(r"\b(?:GET|POST|PUT|DELETE) /v1/[\w/{}]+", text("docs/PROTOCOL.md")))
    yield from differences("docs/PROTOCOL.md", documented, real, "route")


def strategy_rows():
    """The rows of the registry of strategies, as their sources spell them, in the registry's order."""
    rows = {}
    for path in sorted((ROOT / "aggregation/strategy/rules").glob("*.cc")):
        source = path.read_text(encoding="utf-8")
        field = lambda name: re.search(rf'^    \.{name} = "?([^"\n]*?)"?,$', source, re.M)
        symbol = re.search(r"extern const StrategyRule (\w+) = \{", source)
        settings = re.findall(r'^    \{"(\w+)", ([\d.e+-]+)f, \w+, "([^"]*)"\},$', source, re.M)
        listed = re.search(r"kSettings\[\] = \{\n(.*?)^\};", source, re.M | re.S)
        if not (symbol and field("name") and field("sentence") and field("source") and settings) or \
                listed.group(1).count("\n") != len(settings):
            raise SystemExit(f"{path.relative_to(ROOT)}: check_docs.py cannot read this row; write it as fedavg.cc is written")
        vectors = field("state_vectors")
        rows[symbol.group(1)] = {"name": field("name").group(1), "sentence": field("sentence").group(1), "source": field("source").group(1),
                                 "vectors": vectors.group(1) if vectors else "0",
                                 "advised": float(field("learning_rate_advised").group(1)),
                                 "settings": [(name, float(value), sentence) for name, value, sentence in settings]}
    order = re.findall(r"^  X\((\w+)\)", text("aggregation/strategy/registry.cc"), re.M)
    if sorted(order) != sorted(rows):
        raise SystemExit("aggregation/strategy/registry.cc: COT_STRATEGIES and the files of rules/ do not agree")
    return [rows[symbol] for symbol in order]


def strategies():
    """docs/operating/jobs.md has the registry's rows as a table, and docs/openapi.json its kinds, settings and defaults."""
    number = "{:g}".format
    rows = strategy_rows()
    for rule in rows:
        settings = ", ".join(f"`{name}` {number(value)}" for name, value, _ in rule["settings"])
        row = f"| `{rule['name']}` | {rule['sentence']} | {settings} | {number(rule['advised'])} | {rule['vectors']} | {rule['source']} |"
        if row not in text("docs/operating/jobs.md"):
            yield f"docs/operating/jobs.md: the table of strategies has no row\n{row}"
    schema = json.loads(text("docs/openapi.json"))["components"]["schemas"]["JobSettings"]["properties"]["strategy"]["properties"]
    names = [rule["name"] for rule in rows]
    if schema["kind"]["enum"] != names or schema["kind"]["default"] != names[0]:
        yield f"docs/openapi.json: strategy.kind is one of {json.dumps(names)}, by default the first"
    defaults = {}
    for rule in rows:
        for name, value, _ in rule["settings"]:
            defaults.setdefault(name, {})[rule["name"]] = value
    for name, of in defaults.items():
        if schema.get(name, {}).get("x-coterie-defaults") != of:
            yield f"docs/openapi.json: strategy.{name} has \"x-coterie-defaults\": {json.dumps(of)}"


def robust_rows():
    """The rows of the registry of robust rules, as their sources spell them, in the registry's order."""
    rows = {}
    for path in sorted((ROOT / "aggregation/robust/rules").glob("*.cc")):
        source = path.read_text(encoding="utf-8")
        settings = re.findall(r'^    \{"(\w+)", ([\d.e+-]+)f?, \w+, "', source, re.M)
        for symbol, body in re.findall(r"extern const RobustRule (\w+) = \{\n(.*?)^\};", source, re.M | re.S):
            field = lambda name: re.search(rf'^    \.{name} =\s*"([^"\n]*)",$', body, re.M).group(1)
            rows[symbol] = {"name": field("name"), "sentence": field("sentence"), "source": field("source"),
                            "least": field("updates_min_text"), "settings": [(name, float(value)) for name, value in settings]}
    order = re.findall(r"^  X\((\w+)\)", text("aggregation/robust/registry.cc"), re.M)
    if sorted(order) != sorted(rows):
        raise SystemExit("aggregation/robust/registry.cc: COT_ROBUST_RULES and the files of rules/ do not agree")
    return [rows[symbol] for symbol in order]


def robust_rules():
    """docs/operating/robust.md has the registry's rows as a table, and docs/openapi.json its names and defaults."""
    rows = robust_rows()
    defaults = {}
    for rule in rows:
        settings = ", ".join(f"`{name}` {value:g}" for name, value in rule["settings"]) or "-"
        row = f"| `{rule['name']}` | {rule['sentence']} | {settings} | {rule['least']} | {rule['source']} |"
        if row not in text("docs/operating/robust.md"):
            yield f"docs/operating/robust.md: the table of rules has no row\n{row}"
        for name, value in rule["settings"]:
            defaults.setdefault(name, {})[rule["name"]] = value
    schema = json.loads(text("docs/openapi.json"))["components"]["schemas"]["JobSettings"]["properties"]["aggregation"]["properties"]
    if schema["rule"]["enum"] != ["mean"] + [rule["name"] for rule in rows]:
        yield "docs/openapi.json: aggregation.rule is mean, or one of the registry's rules in their order"
    for name, of in defaults.items():
        if schema.get(name, {}).get("x-coterie-defaults") != of:
            yield f"docs/openapi.json: aggregation.{name} has \"x-coterie-defaults\": {json.dumps(of)}"


def selection_rows():
    """The rows of the registry of selection rules, as their sources spell them, in the registry's order."""
    rows, sentence = {}, r'"((?:[^"\n]|"\n\s*")*)"'
    for path in sorted((ROOT / "scheduler/selection/rules").glob("*.cc")):
        source = path.read_text(encoding="utf-8")
        settings = re.findall(r'^    \{"(\w+)", ([\d.e+-]+)f?, \w+, ["k]', source, re.M)
        for symbol, body in re.findall(r"extern const SelectionRule (\w+) = \{\n(.*?)^\};", source, re.M | re.S):
            field = lambda name: re.sub(r'"\s*"', "", re.search(rf"^    \.{name} =\s*{sentence},$", body, re.M).group(1))
            rows[symbol] = {"name": field("name"), "sentence": field("sentence"), "source": field("source"),
                            "settings": [(name, float(value)) for name, value in settings]}
    order = re.findall(r"^  X\((\w+)\)", text("scheduler/selection/selection_registry.cc"), re.M)
    if sorted(order) != sorted(rows):
        raise SystemExit("scheduler/selection/selection_registry.cc: COT_SELECTION_RULES and the files of rules/ do not agree")
    return [rows[symbol] for symbol in order]


def selection_rules():
    """docs/operating/selection.md has the registry's rows as a table, and docs/openapi.json its names and defaults."""
    rows = selection_rows()
    defaults = {}
    for rule in rows:
        settings = ", ".join(f"`{name}` {value:g}" for name, value in rule["settings"]) or "-"
        row = f"| `{rule['name']}` | {rule['sentence']} | {settings} | {rule['source']} |"
        if row not in text("docs/operating/selection.md"):
            yield f"docs/operating/selection.md: the table of rules has no row\n{row}"
        for name, value in rule["settings"]:
            defaults.setdefault(name, {})[rule["name"]] = value
    schema = json.loads(text("docs/openapi.json"))["components"]["schemas"]["JobSettings"]["properties"]["selection"]["properties"]
    if schema["kind"]["enum"] != [rule["name"] for rule in rows]:
        yield "docs/openapi.json: selection.kind is one of the registry's rules in their order"
    for name, of in defaults.items():
        if schema.get(name, {}).get("x-coterie-defaults") != of:
            yield f"docs/openapi.json: selection.{name} has \"x-coterie-defaults\": {json.dumps(of)}"


def job_keys():
    """JobSettings in docs/openapi.json and examples/job.json have the keys that the sources of job JSON read."""
    sources = "".join(text(path.relative_to(ROOT)) for path in sorted((ROOT / "fl_server/json").glob("*_json.cc")))
    real = set(re.findall(r'\.read(?:_choice|_kind)?\("(\w+)"', sources))
    real |= {name for rule in robust_rows() + selection_rows() for name, _ in rule["settings"]}
    real |= set(re.findall(r'(?:reader|update|analytics)\.object\("(\w+)"', sources)) | {"optimizer"}
    real |= set(re.findall(r'\.objects\("(\w+)"', sources))
    real |= {setting for rule in strategy_rows() for setting, _, _ in rule["settings"]} | {"kind"}

    schemas = json.loads(text("docs/openapi.json"))["components"]["schemas"]

    def keys(schema):
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rsplit("/", 1)[1]]
        for name, value in schema.get("properties", {}).items():
            yield name
            yield from keys(value)
        if isinstance(schema.get("items"), dict):
            yield from keys(schema["items"])

    documented = set(keys(schemas["JobSettings"]))
    yield from differences("docs/openapi.json", documented, real, "job key")


def config_keys():
    """docs/operating/configuration.md has a row for every configuration key."""
    source = text("fl_server/config/server_config.cc") + text("fl_server/config/blobs_json.cc") + text("fl_server/config/oidc_json.cc")
    documented = set(re.findall(r"`(?:[\w*]+\.)*(\w+)`", "\n".join(
        line.split("|")[1] for line in text(CONFIGURATION).splitlines() if line.startswith("| `"))))
    for key in re.findall(r'reader\.read\("(\w+)"', source):
        if key not in documented:
            yield f"{CONFIGURATION}: configuration key {key} is not documented"


def metrics():
    """docs/operating/observability.md has a row for every metric."""
    real = set(re.findall(r'"((?:coterie|process)_\w+)",\s*"', text("fl_server/telemetry/metrics.cc")))
    documented = set(re.findall(r"`((?:coterie|process)_\w+)`", text(OBSERVABILITY)))
    yield from differences(OBSERVABILITY, documented, real, "metric")


def errors():
    """docs/PROTOCOL.md has the error table of base/error.cc, but for what only a device says."""
    advice = {"never": "give up", "check_in": "check in", "window": "window", "backoff": "back off"}
    rows = re.findall(r'ErrorTraits\{\w+, "(\w+)", (\d+), \d+, RetryClass::(\w+)', text("base/error.cc"))
    real = {f"{n} {s} {advice[r]}" for n, s, r in rows if n not in ("refused", "cancelled")}
    documented = {" ".join(row) for row in re.findall(r"^\| `(\w+)` \| (\d+) \| ([\w ]+) \|$", text("docs/PROTOCOL.md"), re.M)}
    yield from differences("docs/PROTOCOL.md", documented, real, "error")


def frame_kinds():
    """docs/PROTOCOL.md numbers the frame kinds as frame.h does."""
    real = set(re.findall(r"^  (\w+) = (\d+),$", text("proto/codec/frame.h"), re.M))
    for kind, name in re.findall(r"^\| (\d+) \| ([a-z_]+) \| `", text("docs/PROTOCOL.md"), re.M):
        if (name, kind) not in real:
            yield f"docs/PROTOCOL.md: frame kind {kind} {name} does not exist"


def markdown_files():
    """All of the tree but what is built or generated."""
    for document in sorted(ROOT.rglob("*.md")):
        folders = document.relative_to(ROOT).parts[:-1]
        if not any(folder == "build" or folder.startswith(".") for folder in folders):
            yield document


def without_code(document):
    """Its text without fenced blocks and code in lines: `#` is a comment there, and `](` no link."""
    prose = re.sub(r"^ *```.*?^ *```$", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda code: code[0].replace("](", ""), prose)


def anchors(document):
    """What a heading is called in a link, as GitHub does: small letters, hyphens for blanks, no other marks."""
    names = set()
    for heading in re.findall(r"^#{1,6} +(.*?) *$", without_code(document), re.M):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        twins = sum(1 for other in names if re.fullmatch(re.escape(name) + r"(-\d+)?", other))
        names.add(f"{name}-{twins}" if name in names else name)
    return names


def links():
    """Relative links in documents lead to a file, and to a heading of it where they name one."""
    known = {}
    for document in markdown_files():
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(document)):
            if "://" in target or target.startswith("mailto:"):
                continue
            path, _, anchor = target.partition("#")
            other = (document.parent / path).resolve() if path else document
            if not other.exists():
                yield f"{document.relative_to(ROOT)}: the link {target} leads nowhere"
            elif anchor and other.suffix == ".md":
                if other not in known:
                    known[other] = anchors(other)
                if anchor not in known[other]:
                    yield f"{document.relative_to(ROOT)}: the link {target} names no heading of {other.name}"


def operating_pages():
    """docs/OPERATING.md is the way to every page of docs/operating."""
    index = text("docs/OPERATING.md")
    for page in sorted((ROOT / "docs/operating").glob("*.md")):
        if f"(operating/{page.name})" not in index:
            yield f"docs/OPERATING.md: operating/{page.name} is not listed"


def decisions():
    """docs/adr/README.md lists every decision."""
    index = text("docs/adr/README.md")
    for decision in (ROOT / "docs/adr").glob("0*.md"):
        if decision.name not in index:
            yield f"docs/adr/README.md: {decision.name} is not listed"


def main():
    rules = (admin_routes, device_routes, job_keys, strategies, robust_rules, selection_rules, config_keys, metrics, errors, frame_kinds, links, operating_pages,
             decisions)
    problems = [problem for rule in rules for problem in rule()]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
