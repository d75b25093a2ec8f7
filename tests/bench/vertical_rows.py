"""./bench vertical: jobs between organisations that hold different columns of the same people."""
from rows import BIN, rows_of, verdict

# Operations of a cipher a second and core: by libcrypto, by a kernel.
GOALS = {"Paillier-2048": {"encryptions": 3400, "additions": 280_000, "decryptions": 560},
         "Okamoto-Uchiyama-2048": {"encryptions": 6800, "additions": 860_000, "decryptions": 3600}}
KERNEL_GOALS = {"Paillier-2048": {"encryptions": 3400, "additions": 1_600_000, "decryptions": 560},
                "Okamoto-Uchiyama-2048": {"encryptions": 6800, "additions": 4_900_000, "decryptions": 3600}}


def vertical():
    for row in rows_of([BIN / "coterie-bench-vertical", "--large"]):
        yield from {"psi": psi, "cipher": cipher, "vertical_tree": tree, "vertical_regression": regression, "vertical_split": split}[row["bench"]](row)
    for row in rows_of([BIN / "coterie-bench-vertical-resume"]):
        yield from resume(row)


def resume(row):
    share = row["journals_s"] / row["machines_s"]
    unit = {"matching": "bucket", "trees": "level"}[row["stage"]]
    yield row, (f"journals of both parties, {row['stage']} of {row['units']} {unit}s", f"{1e3 * row['journals_s']:.1f} ms",
                f"their machines {row['machines_s']:.2f} s", f"{100 * share:.2f} % of it; goal 2 %", verdict(share <= 0.02))
    yield None, (f"    going on before the last {unit}", f"{row['last_unit_s']:.2f} s", f"a {unit} of the whole {row['machines_s'] / row['units']:.2f} s", "", "")


def regression(row):
    every = row["label_s"] + row["feature_s"] + row["dealer_s"]
    yield row, (f"an epoch on shares, {row['rows']} rows, {row['label_columns']} + {row['feature_columns']} columns", f"{every:.2f} CPU s",
                f"in double precision {row['plain_s']:.3f} s", "goal 40 s", verdict(every <= 40))
    yield None, ("    label party, feature party, dealer", f"{row['label_s']:.2f}, {row['feature_s']:.2f}, {row['dealer_s']:.2f}", "", "", "")
    yield None, ("    sent", f"{row['label_sent_mb'] + row['feature_sent_mb']:.1f} MB",
                 f"label party {row['label_sent_mb']:.1f} MB, feature party {row['feature_sent_mb']:.1f} MB", f"dealt {row['dealt_mb']:.1f} MB", "")


def split(row):
    # Four batches in flight are four steps a round trip at the most, however fast a step is.
    hidden_max = 1 - (max(row["step_ms"], row["far_step_ms"] / 4) - row["near_4_step_ms"]) / row["round_trip_ms"]
    yield row, (f"a step of a split network, {row['label_columns']} + {row['feature_columns']} columns, batch {row['batch']}",
                f"{row['step_ms']:.1f} ms", f"label party {row['label_ms']:.1f} CPU ms, feature party {row['feature_ms']:.1f}", "", "")
    yield None, (f"    with {row['round_trip_ms']:.0f} ms of round trip, one and four batches in flight",
                 f"{row['far_step_ms']:.1f}, {row['far_4_step_ms']:.1f} ms",
                 f"four without it {row['near_4_step_ms']:.1f} ms, could hide {hidden_max:.2f}",
                 f"{row['hidden']:.2f} of it hidden; goal 0.8", verdict(row["hidden"] >= 0.8))
    for name in ("float32", "int8", "bit1"):
        forward, formula = row[name + "_forward"], row[name + "_formula"]
        back = f", {row[name + '_back']:.2f} back" if name != "bit1" else ""
        yield None, (f"    bytes a row, {row['cut']} numbers at the cut, {name}", f"{forward:.2f} forward{back}", f"formula {formula:.2f}", "",
                     verdict(abs(forward - formula) < 0.01))


def psi(row):
    name = f"matched ids a second, {row['items']} x {row['items']}, "
    if row["kernel"] == "libsodium":
        yield row, (name + "one core", f"{row['items_per_s']:.0f}", f"libsodium alone {row['libsodium_per_s']:.0f}",
                    f"{row['share']:.2f} of it; goal 0.9", verdict(row["share"] >= 0.9))
    else:
        yield row, (name + "by " + row["kernel"], f"{row['items_per_s']:.0f}", f"multiply-adds alone {row['madds_per_s']:.0f}",
                    f"{row['share']:.1f} of libsodium; goal 60000", verdict(row["items_per_s"] >= 60_000))
    yield None, ("    of three runs, the least and the most", f"{row['share_min']:.2f}, {row['share_max']:.2f}",
                 f"label party {row['label_s']:.2f} CPU s, feature party {row['feature_s']:.2f}", "", "")
    if row["kernel"] != "libsodium":
        return
    bytes_a_pair = round(row["bytes_per_pair"], 1)
    yield None, ("    sent by both, a pair of ids", f"{bytes_a_pair} bytes", "", "goal 80 bytes", verdict(bytes_a_pair <= 80))


def cipher(row):
    by_libcrypto = row["kernel"] == "libcrypto"
    powers = "two powers" if row["powers"] == 2 else "a power"
    parts = {"encryptions": f"{row['encrypt_products']} products of {row['half_bits']} bits", "additions": f"a product of {row['ring_bits']} bits",
             "decryptions": f"{powers} of {row['half_bits']} bits",
             "rerandomizations": f"{row['rerandomize_products']} products of {row['ring_bits']} bits"}
    for name, part in parts.items():
        rate, limit = row[name + "_per_s"], row[name + "_limit"]
        goal = (GOALS if by_libcrypto else KERNEL_GOALS)[row["scheme"]].get(name)
        of_goal = f"; goal {goal} a second" if goal else ""
        beside = f"OpenSSL, {part}: {limit:.0f}" if by_libcrypto else f"multiply-adds alone {limit:.0f}"
        share = f"{rate / limit:.2f} of it" if by_libcrypto else f"{rate / row[name + '_openssl']:.1f} of OpenSSL's limit"
        yield (row if name == "encryptions" else None), (
            f"{row['scheme']}, {name} a second, " + ("one core" if by_libcrypto else "by " + row["kernel"]), f"{rate:.0f}", beside,
            share + of_goal, verdict(rate >= goal) if goal else "")
    yield None, ("    tables of whoever rerandomizes, once a job", f"{row['rerandomize_setup_s']:.2f} CPU s", "", "", "")


def tree(row):
    both, limit = row["label_s"] + row["feature_s"], row["label_limit_s"] + row["feature_limit_s"]
    by = "" if row["kernel"] == "libcrypto" else f", by {row['kernel']}"
    is_large = row["rows"] >= 100_000
    yield row, (f"a tree, {row['rows']} rows, {row['label_columns']} + {row['feature_columns']} columns, depth {row['depth']}, {row['scheme']}{by}",
                f"{both:.2f} CPU s", f"operations alone {limit:.2f} s", f"{both / limit:.2f} times" + ("; goal 70 s" if is_large else ""),
                verdict(both <= 70) if is_large else "")
    yield None, ("    label party", f"{row['label_s']:.2f} CPU s", f"operations alone {row['label_limit_s']:.2f} s",
                 f"{row['encryptions']} encryptions, {row['decryptions']} decryptions", "")
    yield None, ("    feature party", f"{row['feature_s']:.2f} CPU s", f"operations alone {row['feature_limit_s']:.2f} s",
                 f"{row['additions']} additions, {row['rerandomizations']} rerandomizations", "")
    yield None, ("    the same where one party has all columns", f"{row['pooled_s'] * 1e3:.1f} CPU ms", "", f"a tree takes {both / row['pooled_s']:.0f} times as long", "")
    yield None, ("    sent", f"{row['label_sent_mb'] + row['feature_sent_mb']:.2f} MB",
                 f"label party {row['label_sent_mb']:.2f} MB, feature party {row['feature_sent_mb']:.2f} MB", "", "")
