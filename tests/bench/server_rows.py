"""The rows of `./bench server`: what operations cost the server, beside nginx and beside the disk."""
from rows import BIN, rows_of, verdict

REQUEST_GOALS = {"small": ("small TLS requests", 0.88), "handshake": ("full TLS handshakes", 0.95)}
UPLOAD_GOAL = 0.85
CONNECTION_KB_MAX = 80
CONSOLE_CORES_MAX = 0.02  # of 200, at two events a second
GOODPUT_MIN, P99_TIMES_MAX = 0.9, 2.0
PHASES = {"enroll": "connecting and enrolling", "check_in": "check-ins, answered at once", "select": "check-ins, held until all are there",
          "download": "downloads", "upload": "uploads", "finalize": "new model"}


def requests():
    for row in rows_of([BIN / "coterie-bench-requests"]):
        name, goal = REQUEST_GOALS[row["what"]]
        what, ours = f"{name} a server CPU second", f"{row['per_cpu_second']:.0f} ({row['per_second']:.0f} a second)"
        if "nginx" in row:
            yield row, (what, ours, row["nginx"], f"goal {goal} of nginx", "not compared")
        else:
            yield row, (what, ours, f"nginx {row['nginx_per_cpu_second']:.0f}", f"{row['nginx_ratio']:.2f} of it; goal {goal}",
                        verdict(row["nginx_ratio"] >= goal))


def accepts():
    for row in rows_of([BIN / "coterie-bench-accepts"]):
        if "missing" in row:
            yield row, (f"durable accepts a second, {row['engine']}", row["missing"], "", "", "not measured")
            continue
        yield row, (f"durable accepts a second, {row['engine']}, batches of {row['batch']}", f"{row['accepts_per_second']:.0f}",
                    f"synced appends {row['synced_appends_per_second']:.0f}",
                    f"{row['batches_per_second'] / row['synced_appends_per_second']:.2f} batches an append", "")


def crowd():
    for row in rows_of([BIN / "coterie-bench-crowd"]):
        phases, devices = row["phases"], row["devices"]
        wall = sum(phases[name]["wall_s"] for name in ("select", "download", "upload", "finalize"))
        cpu = sum(phases[name]["server_cpu_s"] for name in ("select", "download", "upload", "finalize"))
        yield row, (f"a round of {devices} devices x {row['model_mb']:.0f} MB, one node", f"{wall:.1f} s", f"server CPU {cpu:.1f} s",
                    f"{row['mb_down']:.0f} MB down, {row['mb_up']:.0f} MB up, peak {row['peak_rss_mb']:.0f} MB", "")
        for name, what in PHASES.items():
            phase = phases[name]
            yield None, ("    " + what, f"{phase['wall_s']:.2f} s", f"server CPU {phase['server_cpu_s']:.2f} s",
                         f"{phase['server_cpu_s'] * 1e6 / devices:.0f} us a device", "")
        yield None, (f"    memory of one of {devices} TLS connections", f"{row['rss_kb_per_connection']:.0f} KB",
                     f"waiting for a round {row['rss_kb_per_waiting_device']:.0f} KB", f"goal {CONNECTION_KB_MAX} KB",
                     verdict(row["rss_kb_per_waiting_device"] <= CONNECTION_KB_MAX))


def overload():
    for row in rows_of([BIN / "coterie-bench-overload"]):
        if "missing" in row:
            yield row, ("overload", row["missing"], "", "", "not measured")
        elif row["times"] == 0:
            yield row, (f"devices a second, {row['core_share']:.0%} of a core", f"{row['per_second']:.0f}", f"p99 of a request {row['p99_ms']:.0f} ms",
                        f"{row['connections']} at a time", "")
        else:
            goals = GOODPUT_MIN, P99_TIMES_MAX
            yield row, (f"    {row['times']} times as many come", f"{row['per_second']:.0f}, {row['of_peak']:.2f} of the peak",
                        f"p99 {row['p99_ms']:.0f} ms, {row['of_baseline_p99']:.1f} times", "goal {} and {} times".format(*goals),
                        verdict(row["of_peak"] >= goals[0] and row["of_baseline_p99"] <= goals[1] and row["without_window"] == 0))


def consoles():
    for rate in (2, 20):
        for row in rows_of([BIN / "coterie-bench-consoles", "--events", rate]):
            line = (f"{row['consoles']} open consoles, {rate} events a second", f"{row['cores']:.1%} of a core")
            if rate == 2:
                yield row, (*line, f"as many sends on loopback {row['cores_of_sends']:.1%}", f"goal {CONSOLE_CORES_MAX:.0%}",
                            verdict(row["cores"] <= CONSOLE_CORES_MAX))
            else:  # a piece tells several
                yield row, (*line, f"the server without them {row['cores_without']:.1%}", f"{row['kb_a_reader']:.0f} kB a console", "")


def server():
    yield from requests()
    yield from accepts()
    yield from crowd()
    yield from consoles()
    yield from overload()
