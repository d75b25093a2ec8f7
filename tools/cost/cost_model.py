"""What a fleet costs, from figures that ./bench measured: bytes, processor time, transactions, memory, money.

    ./bench server --json > figures.jsonl
    python3 tools/cost/cost_model.py figures.jsonl                    prints the tables of docs/COST.md
    python3 tools/cost/cost_model.py figures.jsonl --into docs/COST.md    writes them there, between its markers
    python3 tools/cost/cost_model.py figures.jsonl --check docs/COST.md   ends with 1 if they are not what stands there

Every assumption has a name and can be set, e.g. --model-mb 10 --checkins 12 --devices 5e6. The formulas are those of
docs/COST.md; each coefficient is one measured figure.
"""
import argparse
import json
import pathlib
import sys

DAY_S = 86_400
BEGIN, END = "<!-- cost: begin -->\n", "<!-- cost: end -->\n"


def coefficients(rows):
    """Processor time in microseconds of one core, memory in KB; with the row each one comes from."""
    def row(**wanted):
        found = [r for r in rows if all(r.get(name) == value for name, value in wanted.items())]
        if not found:
            sys.exit(f"cost_model: the figures lack a row with {wanted}; make them with ./bench server --json")
        return found[-1]

    crowd, handshake = row(bench="crowd"), row(bench="requests", what="handshake")
    devices, phases = crowd["devices"], crowd["phases"]

    def phase_us(name):
        return phases[name]["server_cpu_s"] * 1e6 / devices

    accepts = max((r for r in rows if r.get("bench") == "accepts" and r["engine"] == "postgres" and "batch" in r), key=lambda r: r["batch"],
                  default=None) or row(bench="accepts", engine="postgres", batch=256)
    return {
        "handshake_us": (1e6 / handshake["per_cpu_second"], "a full TLS handshake", "requests, handshake"),
        "checkin_us": (phase_us("check_in"), "a signed check-in", "crowd, check_in"),
        "select_us": (phase_us("select"), "a check-in that is held and gets an assignment", "crowd, select"),
        "download_us_per_mb": (phase_us("download") / crowd["model_mb"], "a MB of a model to a device", "crowd, download"),
        "upload_us_per_mb": (phase_us("upload") / crowd["model_mb"], "a MB of an update: decoded, checked, summed, durable", "crowd, upload"),
        "batch": (accepts["batch"], "updates a transaction", "accepts"),
        "batches_per_s": (accepts["batches_per_second"], "such transactions a second, one connection", "accepts"),
        "waiting_kb": (crowd["rss_kb_per_waiting_device"], "memory of a device that waits for a round", "crowd, select"),
    }


def costs(c, a, devices):
    """One day of `devices` devices; `c` the coefficients, `a` the assumptions."""
    checkins, updates = devices * a.checkins, devices * a.participations
    cpu_s = {
        "handshakes": checkins * a.handshakes * c["handshake_us"] / 1e6,
        "check-ins": ((checkins - updates) * c["checkin_us"] + updates * c["select_us"]) / 1e6,
        "downloads": updates * a.model_mb * c["download_us_per_mb"] / 1e6,
        "uploads": updates * a.update_mb * c["upload_us_per_mb"] / 1e6,
    }
    total_cpu_s = sum(cpu_s.values())
    transactions = updates / c["batch"] + devices * a.directory_reads
    down_gb, up_gb = updates * a.model_mb / 1e3, updates * a.update_mb / 1e3
    peak = a.peak_to_mean / DAY_S
    waiting = checkins * peak * a.hold_s * a.held_share
    cores = total_cpu_s * peak / a.utilisation
    return [
        ("check-ins a second, at the peak", f"{checkins * peak:,.0f}"),
        ("updates a second, at the peak", f"{updates * peak:,.0f}"),
        ("down", f"{down_gb:,.0f} GB, {down_gb * 8 * peak:,.2f} Gbit/s at the peak"),
        ("up", f"{up_gb:,.0f} GB, {up_gb * 8 * peak:,.2f} Gbit/s at the peak"),
        *((f"CPU of {name}", f"{seconds:,.0f} s") for name, seconds in cpu_s.items()),
        ("CPU of all", f"{total_cpu_s:,.0f} s, {total_cpu_s / devices * 1e3:.2f} ms a device"),
        (f"cores at the peak, {a.utilisation * 100:.0f} % busy", f"{cores:,.1f}"),
        ("transactions", f"{transactions:,.0f}, {transactions * peak:,.1f} a second at the peak"),
        ("of what one connection to PostgreSQL did", f"{updates / c['batch'] * peak / c['batches_per_s'] * 100:,.2f} % in batches"),
        ("devices that wait, at the peak", f"{waiting:,.0f}, {waiting * c['waiting_kb'] / 1e6:,.1f} GB"),
        ("cores' worth a day", f"${cores * 24 * a.core_hour_dollars:,.2f}"),
        ("traffic's worth a day", f"${down_gb * a.gb_out_dollars:,.2f} (what leaves)"),
    ]


def markdown(c, a):
    lines = ["| coefficient | figure | from |", "|---|---|---|"]
    for name, (value, what, source) in c.items():
        lines.append(f"| `{name}`: {what} | {value:,.1f} | {source} |")
    plain = {name: value for name, (value, _, _) in c.items()}
    columns = [costs(plain, a, devices) for devices in a.devices]
    lines += ["", "| a day of | " + " | ".join(f"{devices / 1e6:g} M devices" for devices in a.devices) + " |", "|---|" + "---|" * len(a.devices)]
    lines += [f"| {cells[0][0]} | " + " | ".join(text for _, text in cells) + " |" for cells in zip(*columns)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=pathlib.Path, help="what ./bench server --json printed")
    parser.add_argument("--devices", type=float, nargs="+", default=[1e6, 100e6], help="devices a day (%(default)s)")
    for name, default, what in (("checkins", 6, "check-ins of a device a day"), ("participations", 1, "updates of a device a day"),
                                ("model-mb", 1, "size of the model"), ("update-mb", 1, "size of an update"),
                                ("handshakes", 1, "full handshakes a check-in (0.1: nine in ten resume)"),
                                ("held-share", 0.2, "share of the check-ins that are held"), ("hold-s", 30, "seconds that one is held on average"),
                                ("directory-reads", 2, "reads of a device's row a day, on nodes that do not know it"),
                                ("peak-to-mean", 3, "busiest second over the day's mean: devices charge at night"),
                                ("utilisation", 0.5, "how busy a core may be at the peak"),
                                ("core-hour-dollars", 0.04, "a core for an hour"), ("gb-out-dollars", 0.05, "a GB that leaves")):
        parser.add_argument("--" + name, type=float, default=default, help=what + " (%(default)s)")
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--into", type=pathlib.Path)
    target.add_argument("--check", type=pathlib.Path)
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.figures.read_text().splitlines() if line.startswith("{")]
    text = markdown(coefficients(rows), options)
    path = options.into or options.check
    if path is None:
        print(text, end="")
        return 0
    page = path.read_text()
    if BEGIN not in page or END not in page:
        sys.exit(f"cost_model: {path} lacks the markers {BEGIN.strip()} and {END.strip()}")
    head, tail = page.split(BEGIN)[0], page.split(END)[1]
    wanted = head + BEGIN + text + END + tail
    if options.into:
        path.write_text(wanted)
    elif page != wanted:
        print(f"cost_model: the tables of {path} are not those of {options.figures}; write them with\n"
              f"  python3 tools/cost/cost_model.py {options.figures} --into {path}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
