// The instruction sets that int8 layers can be computed with. Whichever it is, the bits are those of kernels.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace coterie::kernels::int8 {

// What adds the products.
//   reference    nothing: kernels.h one by one
//   avx2         vpmaddwd: pairs of int16
//   avx512_vnni  vpdpbusd: four uint8 by int8; the inputs are moved by 128, and the biases take that back
//   neon         smull on pairs of int16
//   neon_dot     sdot: four int8 by int8
//   neon_i8mm    smmla: eight int8 by int8, of two pixels and two outputs
// Sums may wrap on the way; the last one does not.
enum class Adder : uint8_t { reference, avx2, avx512_vnni, neon, neon_dot, neon_i8mm };
std::string_view to_string(Adder adder);

// Whether this build and this CPU have it. The reference is always there.
bool has_adder(Adder adder);
// Those that are there, the fastest first and the reference last.
std::vector<Adder> adders();
Adder fastest_adder();

}  // namespace coterie::kernels::int8
