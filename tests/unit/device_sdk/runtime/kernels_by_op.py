#!/usr/bin/env python3
"""What cmake/ops_from.py says each op, loss and optimizer needs, as C++ for kernels_in_build_test.cc.

Usage: kernels_by_op.py ROOT OUTPUT
"""
import pathlib
import sys

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "cmake"))
sys.dont_write_bytecode = True
import ops_from  # noqa: E402


def function(parameter, cases):
    """The text of keep_kernels_of(to, from, parameter); cases: (label, kernels)."""
    lines = [f"inline void keep_kernels_of(KernelTable& to, const KernelTable& from{parameter}) {{"]
    for label, kernels in cases:
        lines += [label] + [f"  to.{kernel} = from.{kernel};" for kernel in sorted(kernels) if "::" not in kernel] + ["  break;"] * bool(label)
    return "\n".join(lines + (["  }"] if parameter else []) + ["}"])


def main():
    family_of = ops_from.family_of_kernels(ROOT)
    always = ops_from.kernels_for(ROOT, [], set(), set(), family_of)
    by_op = ops_from.kernels_of_ops(ROOT, family_of)
    kinds = ops_from.enumerators(ROOT / "proto/messages/model.h", "OpKind").values()
    out = ["#pragma once", '#include "proto/messages/plan.h"', '#include "train_kernels/kernel_table.h"',
           "namespace coterie::kernels {", function("", [("", always)]),
           function(", OpKind kind) {\n  switch (kind",
                    [(f"case OpKind::{kind}:", by_op.get(kind, ())) for kind in kinds])]
    for enum in ("Loss", "OptimizerKind"):
        names = ops_from.enumerators(ROOT / "proto/messages/plan.h", enum).values()
        out.append(function(f", {enum} kind) {{\n  switch (kind", [
            (f"case {enum}::{name}:", ops_from.kernels_for(ROOT, [], {name}, set(), family_of)) for name in names]))
    output = pathlib.Path(sys.argv[2])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(out + ["}  // namespace coterie::kernels", ""]))


if __name__ == "__main__":
    main()
