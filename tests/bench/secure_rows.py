"""./bench secure: cryptography and differential privacy."""
from rows import BIN, rows_of, verdict


def secret_sharing():
    """Shamir's sharing of a seed; the goals are for GFNI."""
    goals_us = {(100, 67): 6, (255, 170): 55}
    for row in rows_of([BIN / "coterie-bench-secret-sharing"]):
        goal = goals_us[(row["count"], row["threshold"])]
        yield row, (f"secret sharing, {row['threshold']} of {row['count']}, {row['kernels']}", f"{row['share_us']:.1f} us",
                    f"portable {row['share_portable_us']:.0f} us", f"goal {goal} us", verdict(row["share_us"] <= goal))
        yield None, ("    with random coefficients and locked memory", f"{row['split_us']:.1f} us", "", "", "")
        yield None, ("    reconstruction", f"{row['reconstruct_us']:.2f} us", f"new survivors {row['weights_us']:.1f} us", "", "")
        yield None, ("    the same with as many bad shares as can be", f"{row['correct_us']:.0f} us", "", "", "")


def masks():
    """Streams of masks onto a vector, one thread, beside the cipher alone."""
    for row in rows_of([BIN / "coterie-bench-masks"]):
        if row["bench"] == "masks":
            ours = f"{row['gb_per_s']:.1f} GB/s by {row['kernel']}"
            yield row, (f"masks onto {row['lanes'] / 1e6:g} M lanes, one core", ours, f"cipher alone {row['raw_gb_per_s']:.1f} GB/s",
                        f"{row['raw_share']:.2f} of it; goal 0.9", verdict(row["raw_share"] >= 0.9))
            has_goal = row["kernel"].endswith("vaes512")
            yield None, ("    beside libcrypto, then added", "", f"{row['libcrypto_gb_per_s']:.1f} GB/s",
                         f"{row['times_libcrypto']:.1f} times as fast" + ("; goal 3" if has_goal else ""),
                         verdict(row["times_libcrypto"] >= 3) if has_goal else "")
        elif row["bench"] == "mask_kernels":
            yield row, (f"    {row['kernel']}", f"{row['gb_per_s']:.1f} GB/s", f"cipher alone {row['raw_gb_per_s']:.1f} GB/s", "", "")
        else:
            over = row["cpu_s"] / row["raw_s"]
            yield row, (f"unmasking, {row['devices']} devices, {row['dropped']} dropped, {row['graph']}", f"{row['cpu_s']:.2f} CPU s",
                        f"cipher alone {row['raw_s']:.2f} s", f"{over:.2f} times; goal 1.3", verdict(over <= 1.3))


def sessions():
    """Whole sessions of secure aggregation, one device's and the server's part, beside their operations alone."""
    for row in rows_of([BIN / "coterie-bench-sessions"]):
        small = row["level"] == "masked" and row["lanes"] == 100_000
        what = f"{row['level']}, {row['devices']} devices, {row['neighbours']:.0f} neighbours, {row['lanes'] / 1e6:g} M lanes"
        over = row["client_ms"] / row["client_limit_ms"]
        ok = over <= 1.25 and (not small or row["client_ms"] <= 12)
        yield row, (f"{what}: a device", f"{row['client_ms']:.1f} CPU ms", f"operations alone {row['client_limit_ms']:.1f} ms",
                    f"{over:.2f} times; goal 1.25" + (" and 12 ms" if small else ""), verdict(ok))
        over = row["server_s"] / row["server_limit_s"]
        ok = over <= 1.3 and (not small or row["server_s"] <= 0.4)
        yield None, (f"    unmasking at the server, {row['dropped']} dropped", f"{row['server_s']:.2f} CPU s",
                     f"operations alone {row['server_limit_s']:.2f} s",
                     f"{over:.2f} times; goal 1.3" + (" and 0.4 s" if small else ""), verdict(ok))


def noise():
    """Noise for differential privacy, with words of 64 bits and, for many draws, of 128."""
    for row in rows_of([BIN / "coterie-bench-noise"]):
        if row["bench"] == "encoding":
            yield row, ("encoding of an update, rotated, a coordinate", f"{row['encode_ns']:.1f} ns",
                        f"with noise {row['encode_with_noise_ns']:.1f} ns, decoding {row['decode_ns']:.1f} ns", "", "")
            continue
        goal = 10 if row["sigma"] <= 8 else 30
        others = "".join(f", {level} {row[level + '_ns']:.0f} ns" for level in ("avx2", "baseline") if level + "_ns" in row)
        yield row, (f"noise a coordinate, {row['kind']}, sigma {row['sigma']}, {row['word_bits']} bits",
                    f"{row['ns']:.1f} ns", f"key stream alone {row['stream_ns']:.1f} ns{others}", f"goal {goal} ns",
                    verdict(row["ns"] <= goal))


def accounting():
    """Privacy accountants; a row is a composition of a sampled Gaussian."""
    for row in rows_of([BIN / "coterie-bench-accounting"]):
        yield row, (f"privacy loss distribution of {row['steps']} releases", f"{row['pld_ms']:.1f} ms",
                    f"RDP {row['rdp_ms']:.1f} ms", f"epsilon {row['pld_epsilon']:.3f}, RDP {row['rdp_epsilon']:.3f}; goal 50 ms",
                    verdict(row["pld_ms"] <= 50))


def secure():
    yield from secret_sharing()
    yield from masks()
    yield from sessions()
    yield from noise()
    yield from accounting()
