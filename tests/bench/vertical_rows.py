"""./bench vertical: jobs between organisations that hold different columns of the same people."""
from rows import BIN, rows_of, verdict

# Operations of Paillier-2048 a second and core.
PAILLIER_GOALS = {"encryptions": 3400, "additions": 280_000, "decryptions": 560}


def vertical():
    for row in rows_of([BIN / "coterie-bench-vertical"]):
        yield from {"psi": psi, "paillier": paillier, "vertical_tree": tree, "vertical_regression": regression}[row["bench"]](row)


def regression(row):
    every = row["label_s"] + row["feature_s"] + row["dealer_s"]
    yield row, (f"an epoch on shares, {row['rows']} rows, {row['label_columns']} + {row['feature_columns']} columns", f"{every:.2f} CPU s",
                f"in double precision {row['plain_s']:.3f} s", "goal 40 s", verdict(every <= 40))
    yield None, ("    label party, feature party, dealer", f"{row['label_s']:.2f}, {row['feature_s']:.2f}, {row['dealer_s']:.2f}", "", "", "")
    yield None, ("    sent", f"{row['label_sent_mb'] + row['feature_sent_mb']:.1f} MB",
                 f"label party {row['label_sent_mb']:.1f} MB, feature party {row['feature_sent_mb']:.1f} MB", f"dealt {row['dealt_mb']:.1f} MB", "")


def psi(row):
    yield row, (f"matched ids a second, {row['items']} x {row['items']}, one core", f"{row['items_per_s']:.0f}",
                f"libsodium alone {row['libsodium_per_s']:.0f}", f"{row['share']:.2f} of it; goal 0.9", verdict(row["share"] >= 0.9))
    yield None, ("    of three runs, the least and the most", f"{row['share_min']:.2f}, {row['share_max']:.2f}",
                 f"label party {row['label_s']:.2f} CPU s, feature party {row['feature_s']:.2f}", "", "")
    bytes_a_pair = round(row["bytes_per_pair"], 1)
    yield None, ("    sent by both, a pair of ids", f"{bytes_a_pair} bytes", "", "goal 80 bytes", verdict(bytes_a_pair <= 80))


def paillier(row):
    parts = {"encryptions": f"{row['encrypt_products']} products of 2048 bits", "additions": "a product of 4096 bits",
             "decryptions": "two powers of 2048 bits", "rerandomizations": f"{row['rerandomize_products']} products of 4096 bits"}
    for name, part in parts.items():
        rate, limit, goal = row[name + "_per_s"], row[name + "_limit"], PAILLIER_GOALS.get(name)
        yield (row if name == "encryptions" else None), (
            f"Paillier-2048, {name} a second, one core", f"{rate:.0f}", f"OpenSSL, {part}: {limit:.0f}",
            f"{rate / limit:.2f} of it" + (f"; goal {goal} a second" if goal else ""), verdict(rate >= goal) if goal else "")
    yield None, ("    tables of whoever rerandomizes, once a job", f"{row['rerandomize_setup_s']:.2f} CPU s", "", "", "")


def tree(row):
    both, limit = row["label_s"] + row["feature_s"], row["label_limit_s"] + row["feature_limit_s"]
    yield row, (f"a tree, {row['rows']} rows, {row['label_columns']} + {row['feature_columns']} columns, depth {row['depth']}",
                f"{both:.2f} CPU s", f"operations alone {limit:.2f} s", f"{both / limit:.2f} times", "")
    yield None, ("    label party", f"{row['label_s']:.2f} CPU s", f"operations alone {row['label_limit_s']:.2f} s",
                 f"{row['encryptions']} encryptions, {row['decryptions']} decryptions", "")
    yield None, ("    feature party", f"{row['feature_s']:.2f} CPU s", f"operations alone {row['feature_limit_s']:.2f} s",
                 f"{row['additions']} additions, {row['rerandomizations']} rerandomizations", "")
    yield None, ("    the same where one party has all columns", f"{row['pooled_s'] * 1e3:.1f} CPU ms", "", f"a tree takes {both / row['pooled_s']:.0f} times as long", "")
    yield None, ("    sent", f"{row['label_sent_mb'] + row['feature_sent_mb']:.2f} MB",
                 f"label party {row['label_sent_mb']:.2f} MB, feature party {row['feature_sent_mb']:.2f} MB", "", "")
