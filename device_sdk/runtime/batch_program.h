// BatchProgram: a model compiled for one batch size and bound to an arena, ready to be filled and run.
#pragma once

#include "device_sdk/runtime/batch_reader.h"
#include "device_sdk/runtime/graph_compiler.h"

namespace coterie {

struct BatchProgram {
  BatchProgram(const Model& model, const LossSettings& loss, uint32_t batch, CompiledModel&& code, const Arena& arena)
      : batch_size(batch), compiled((code.program.bind(arena), std::move(code))), reader(model, loss, compiled) {}

  uint32_t batch_size;
  CompiledModel compiled;
  BatchReader reader;
};

}  // namespace coterie
