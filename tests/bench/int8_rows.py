"""./bench int8: layers that compute in int8 beside what the instructions could do, and networks beside float32."""
from rows import BIN, rows_of, verdict

GOAL_GOPS = 550  # of a layer that is not depthwise, with VNNI
GOAL_RATIO = 2.5  # of a whole network


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
