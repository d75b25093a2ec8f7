// Which kernels a training's forward and backward run with. Evaluation and updates of parameters are in float32,
// whatever the storage of activations is.
#pragma once

#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/train_options.h"
#include "train_kernels/bfloat16_kernels.h"
#include "train_kernels/kernel_table.h"

namespace coterie {

// Those of bfloat16 where they are asked for and the CPU has them; float32's otherwise.
inline const kernels::KernelTable& training_kernels(const TrainOptions& options) {
  const kernels::KernelTable* const bfloat16 =
      kHasBfloat16 && options.storage == Storage::bfloat16 ? kernels::bfloat16_kernels() : nullptr;
  return bfloat16 != nullptr ? *bfloat16 : kernels::kernels();
}

}  // namespace coterie
