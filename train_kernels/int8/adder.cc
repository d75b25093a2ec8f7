#include "train_kernels/int8/adder.h"

#include "train_kernels/int8/vector_kernels.h"

namespace coterie::kernels::int8 {

std::string_view to_string(Adder adder) {
  switch (adder) {
    case Adder::reference: return "reference";
    case Adder::avx2: return "avx2";
    case Adder::avx512_vnni: return "avx512-vnni";
    case Adder::neon: return "neon";
    case Adder::neon_dot: return "neon-dot";
    case Adder::neon_i8mm: return "neon-i8mm";
  }
  return "unknown";
}

bool has_adder(Adder adder) { return adder == Adder::reference || vector_kernels(adder) != nullptr; }

std::vector<Adder> adders() {
  std::vector<Adder> found;
  for (const Adder adder :
       {Adder::avx512_vnni, Adder::avx2, Adder::neon_i8mm, Adder::neon_dot, Adder::neon, Adder::reference}) {
    if (has_adder(adder)) found.push_back(adder);
  }
  return found;
}

Adder fastest_adder() { return adders().front(); }

}  // namespace coterie::kernels::int8
