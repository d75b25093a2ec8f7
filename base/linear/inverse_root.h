// The inverse fourth root of a symmetric matrix that is a sum of squares.
#pragma once

#include <cstddef>

namespace coterie {

// In doubles.
constexpr size_t inverse_root_scratch(size_t n) { return n * n + 2 * n; }

// root = (matrix + damping I)^(-1/4); both [n, n]. Eigenvalues below 1e-7 of the largest one, which the rounding of
// `matrix` may have made, count as so large. The part of `matrix` on and above the diagonal is read. All of it is
// computed in double; `scratch` is what inverse_root_scratch() says. A matrix with a number that is not finite gives
// numbers that mean nothing.
template <typename T>
void inverse_fourth_root(size_t n, T damping, const T* matrix, T* root, double* scratch);

}  // namespace coterie
