// The proximal term of FedProx: what pulls a device's weights back to those that it was given.
#pragma once

#include "device_sdk/runtime/program.h"

namespace coterie {

// Floats, as many each.
struct ProximalBuffers {
  BufferId gradient, values, start;
};

// Emits a step that makes gradient + mu * (values - start), and gives where it lies: over the gradient where nobody
// reads that again. Source: Li et al. 2020, equation 2.
BufferId emit_proximal(Program& program, Phase phase, float mu, uint64_t count, const ProximalBuffers& buffers);

}  // namespace coterie
