// Eigenvalues and eigenvectors of a symmetric matrix, in double.
#pragma once

#include <cstddef>

namespace coterie {

// `matrix`, [n, n], becomes its eigenvectors, one a row; `values`, [n], their eigenvalues, in no order. The part of the
// matrix on and above the diagonal is read. `scratch`: [n]. Errors are of the size of the largest eigenvalue's last
// bits. A matrix with a number that is not finite gives numbers that mean nothing; nothing hangs.
//
// Householder's reduction to three diagonals, then the implicit QL iteration. Source: EISPACK, tred2 and tql2 (Bowdler,
// Martin, Reinsch and Wilkinson, Handbook for Automatic Computation, volume 2, 1971).
void symmetric_eigen(size_t n, double* matrix, double* values, double* scratch);

}  // namespace coterie
