"""./bench conv2d: what the cost model of convolutions gives away, beside the fastest way of each shape."""
from rows import BIN, rows_of, verdict

GOAL_REGRET = 0.05  # in the mean


def conv2d():
    for row in rows_of([BIN / "coterie-bench-conv2d-regret", "--json"]):
        yield row, (f"convolutions, ways chosen for {row['of']}", f"regret {row['mean'] * 100:.1f} % in the mean",
                    f"{row['largest'] * 100:.0f} % at most, {row['best_chosen']} of {row['shapes']} shapes have the fastest way",
                    f"goal {GOAL_REGRET * 100:.0f} %", verdict(row["mean"] <= GOAL_REGRET))
