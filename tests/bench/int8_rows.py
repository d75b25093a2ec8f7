"""./bench int8: layers that compute in int8 beside what the instructions could do, networks beside float32, and what
networks lose when they are quantised after training."""
from rows import BIN, ROOT, rows_of, verdict

GOAL_GOPS = 550  # of a layer that is not depthwise, with VNNI
GOAL_RATIO = 2.5  # of a whole network

IMAGES = ROOT / "../shared/data/mnist-t10k"
GOAL_DROP = 0.3  # points, with 8 bits
GOAL_APART = 0.5  # points, from what PyTorch's rounding lost on such a network
GOAL_DEPTHWISE = 95.7  # percent, with weights of 4 bits
# Of a simulation in PyTorch, batch norms folded, scales by channel: float32, and of each width by min-max, by least
# squares, and that with corrected biases. Trained otherwise, so that drops are what is compared.
PEER = {
    "LeNet-5": (96.85, {8: (96.85, 96.85, 96.85), 6: (96.95, 96.85, 96.75), 5: (96.50, 96.85, 96.85),
                        4: (96.90, 96.45, 96.75), 3: (95.60, 96.65, 96.85), 2: (70.90, 94.65, 89.10),
                        1: (88.95, 88.95, 12.70)}),
    "depthwise": (96.75, {8: (96.80, 96.80, 96.85), 6: (96.15, 96.60, 96.85), 5: (96.50, 96.15, 96.15),
                          4: (92.90, 94.10, 95.70), 3: (56.75, 88.95, 95.70), 2: (18.10, 13.60, 46.15)}),
}


def quantised_row(row):
    drop = row["float32"] - row["kept"]
    what = {"weights": "weights of {bits} bits", "full": "int8 throughout, weights of {bits} bits",
            "found": "{target:.0f} times smaller"}
    name = f"quantised, {row['net']}, " + what[row["what"]].format(**row)
    found = f"{row['kept']:.2f} % of {row['float32']:.2f} %, {row['ratio']:.1f} times smaller"
    peer = ""
    if row["what"] == "weights":
        peer = f"min-max {row['min_max']:.2f}, least squares {row['least_mse']:.2f}, with biases {row['bias']:.2f}"
    if row["what"] == "found":
        return row, (name, found, peer, f"goal: the ratio, {0.5} points at most", verdict(drop <= 0.5))
    exact, widths = PEER.get(row["net"], (0, {}))
    if row["what"] == "full" and row["bits"] < 8:
        return row, (name, found, peer, "", "")
    if row["net"].startswith("depthwise") and row["bits"] == 4:
        return row, (name, found, peer, f"goal {GOAL_DEPTHWISE} %", verdict(row["kept"] >= GOAL_DEPTHWISE))
    if row["bits"] == 8:
        return row, (name, found, peer, f"goal: {GOAL_DROP} points at most", verdict(drop <= GOAL_DROP))
    if row["bits"] not in widths:
        return row, (name, found, peer, "", "")
    lost = exact - max(widths[row["bits"]])
    return row, (name, found, peer, f"PyTorch lost {lost:.2f} points; goal within {GOAL_APART}",
                 verdict(drop <= lost + GOAL_APART))


def int8():
    for row in rows_of([BIN / "coterie-bench-int8"]):
        has_goal = row["adder"] == "avx512-vnni" and not row["layer"].startswith("depthwise")
        yield row, (f"int8, {row['layer']}, {row['adder']}", f"{row['gops']:.0f} GOP/s, {row['us']:.0f} us",
                    f"its instructions {row['limit_gops']:.0f}, fp32 at most {row['fp32_peak_gflops']:.0f}",
                    f"goal {GOAL_GOPS}" if has_goal else "", verdict(row["gops"] >= GOAL_GOPS) if has_goal else "")
    for row in rows_of([BIN / "coterie-bench-int8", "nets"]):
        ratio = row["fp32_us"] / row["int8_us"]
        yield row, (f"int8, {row['net']}", f"{row['int8_us']:.1f} us an example",
                    f"float32 {row['fp32_us']:.1f} us ({row['fp32_batch']} at a time)",
                    f"{ratio:.1f} times as fast; goal {GOAL_RATIO}", verdict(ratio >= GOAL_RATIO))
    for row in rows_of([BIN / "coterie-bench-int8", "accuracy", IMAGES]):
        if "missing" in row:
            yield dict(row, bench="quantised"), ("quantised networks", row["missing"], "", "", "not measured")
        else:
            yield quantised_row(row)
