// The Newton-Schulz iteration of Muon, in double.
#pragma once

#include <cstddef>
#include <span>

namespace coterie::strategy {

// x, [rows, columns], becomes nearly the orthogonal matrix next to it: x / (|x|_F + 1e-7), and then five times X <-
// 3.4445 X + (-4.775 A + 2.0315 A^2) X with A = X X^T, of the transposed for a matrix that is taller than wide. It
// takes 5 s^2 (2 l + s) multiplications, s the shorter side and l the longer one. Source: Jordan et al. 2024.
void orthogonalise(size_t rows, size_t columns, std::span<double> x);

}  // namespace coterie::strategy
