"""./bench data_cache: `coterie data inspect` of one source without and with a data cache that has it, in turns."""
import gzip
import pathlib
import random
import statistics
import struct
import subprocess
import tempfile
import time
import zlib

from rows import BIN

ROWS, COLUMNS, PICTURES, WIDTH, HEIGHT, PAIRS = 100_000, 28, 1_000, 128, 96, 9


def write_table(path):
    chance = random.Random(7)
    with open(path, "w") as table:
        table.write(",".join([*(f"x{i}" for i in range(COLUMNS)), "kind", "answer"]) + "\n")
        for _ in range(ROWS):
            values = [f"{chance.gauss(0, 1):.6f}" for _ in range(COLUMNS)]
            table.write(",".join([*values, chance.choice("abcdef"), chance.choice(("yes", "no"))]) + "\n")


def write_array(path, kind, shape, values):
    """A .npy of version 1.0; `kind`: of its numbers, as struct names it."""
    head = f"{{'descr': '<{'f8' if kind == 'd' else 'i8'}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}{kind}", *values))


def write_picture(path, chance):
    """A PNG of noise, which does not compress."""
    lines = b"".join(b"\x00" + chance.randbytes(3 * WIDTH) for _ in range(HEIGHT))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(lines, 1)) + chunk(b"IEND", b""))


def sources(folder):
    """What is measured: a name, the source, and the bytes that it lies in."""
    table, packed, inputs, targets, pictures = (folder / name for name in ("t.csv", "t.csv.gz", "x.npy", "y.npy", "pictures"))
    write_table(table)
    packed.write_bytes(gzip.compress(table.read_bytes(), 6))
    chance = random.Random(8)
    write_array(inputs, "d", (ROWS, COLUMNS), [chance.random() for _ in range(ROWS * COLUMNS)])
    write_array(targets, "q", (ROWS,), [chance.randrange(2) for _ in range(ROWS)])
    for i in range(PICTURES):
        (pictures / f"class-{i % 4}").mkdir(parents=True, exist_ok=True)
        write_picture(pictures / f"class-{i % 4}/{i}.png", chance)
    size = sum(one.stat().st_size for one in pictures.rglob("*.png"))
    yield f"csv: {ROWS:,} rows of {COLUMNS + 1} columns", f"csv:{table}?target=answer", table.stat().st_size
    yield "the same by gzip", f"csv:{packed}?target=answer", packed.stat().st_size
    yield f"npy: {ROWS:,} rows of {COLUMNS}", f"npy:{inputs},{targets}", inputs.stat().st_size + targets.stat().st_size
    yield f"images: {PICTURES:,} PNG of {WIDTH} x {HEIGHT}", f"images:{pictures}?height=32&width=32", size


def seconds(*words):
    began = time.monotonic()
    told = subprocess.run([str(word) for word in (BIN / "coterie", "data", *words)], stdout=subprocess.PIPE, check=True).stdout
    return time.monotonic() - began, told


def data_cache():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for what, source, size in sources(folder):
            kept = ("--data-cache", folder / "cache", "inspect", source)
            first, _ = seconds(*kept)
            plain, warm = [], []
            for _ in range(PAIRS):
                without, told = seconds("inspect", source)
                with_it, same = seconds(*kept)
                assert told == same, f"{what}: the cache has other values"
                plain.append(without)
                warm.append(with_it)
            before, now = statistics.median(plain), statistics.median(warm)
            yield {"bench": "data_cache", "source": what, "bytes": size, "without_s": before, "with_s": now, "first_s": first}, (
                f"inspected with a data cache, {what}", f"{now:.3f} s", f"without {before:.3f} s, the first time {first:.3f} s",
                f"{before / now:.1f} times, of {size / 1e6:.1f} MB", "")
