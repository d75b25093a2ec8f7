"""./bench serving: what a request to a served model costs."""
from rows import BIN, rows_of, verdict

REQUESTS_GOAL = 25_000  # JSON requests a server CPU second
# Node 20 with ONNX Runtime 1.30, the same protocol and such a network, on two cores of an EPYC server. Cited, not measured in this run.
NODE_ORT = "Node + ONNX Runtime: 9,100"


def serving():
    for row in rows_of([BIN / "coterie-bench-serving"]):
        rate, compute, p99 = row["per_cpu_second"], row["compute_us"], row["half_load_p99_us"]
        yield row, (f"JSON requests to a cnn (38 k parameters) a server CPU second, {row['connections']} connections",
                    f"{rate:.0f} ({row['per_second']:.0f} a second)", NODE_ORT, f"goal {REQUESTS_GOAL}", verdict(rate >= REQUESTS_GOAL))
        yield None, ("    by workers alone", f"{row['by_workers_per_cpu_second']:.0f} ({row['by_workers_per_second']:.0f} a second)", "", "", "")
        yield None, ("    latency at half that load, p50 and p99", f"{row['half_load_p50_us']:.0f} and {p99:.0f} us",
                     f"compute alone {compute:.0f} us", f"p99 is {p99 / compute:.1f} times compute; goal 2",
                     verdict(p99 <= 2 * compute))
        yield None, ("    of that the clients' own: until a request was sent", f"{row['half_load_sent_p50_us']:.0f} and {row['half_load_sent_p99_us']:.0f} us", "", "", "")
        for title, key in (("by workers alone", "_by_workers"), ("an answer without a model", "_health")):
            yield None, (f"    {title}, at the same pace", f"{row[f'half_load{key}_p50_us']:.0f} and {row[f'half_load{key}_p99_us']:.0f} us", "", "", "")
        lone = row["lone_p50_us"] - row["lone_health_p50_us"]
        yield None, ("    one request behind the other, p50 and p99", f"{row['lone_p50_us']:.0f} and {row['lone_p99_us']:.0f} us",
                     f"by workers alone {row['lone_by_workers_p50_us']:.0f} and {row['lone_by_workers_p99_us']:.0f} us",
                     f"without a model {row['lone_health_p50_us']:.0f} and {row['lone_health_p99_us']:.0f} us: {lone:.0f} us less", "")
        yield None, (f"    wrong answers over {row['switches']} hot switches under load", str(row["switch_wrong"]),
                     f"of {row['switch_answers']} answers", "goal 0", verdict(row["switch_wrong"] == 0 and row["wrong"] == 0))
