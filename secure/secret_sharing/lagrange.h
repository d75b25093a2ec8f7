// Lagrange's interpolation over GF(2^8), as weights of the values: they depend on the public x alone. Private to
// secure/secret_sharing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace coterie {

// For different xs, none 0. A polynomial of degree below xs.size() through values y_i has at 0 the value
// sum of w_i y_i, w_i = prod_{j != i} x_j / (x_j - x_i).
std::vector<uint8_t> weights_at_zero(std::span<const uint8_t> xs);

// ... and as coefficient of x^(xs.size() - 1) the sum of u_i y_i, u_i = 1 / prod_{j != i} (x_i - x_j).
std::vector<uint8_t> leading_weights(std::span<const uint8_t> xs);

}  // namespace coterie
