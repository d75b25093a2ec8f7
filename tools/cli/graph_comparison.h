// coterie model compare where one of both is a graph of another program. In a build without ONNX:
// no_onnx_commands.cc.
#pragma once

#include "base/result.h"
#include "tools/cli/model_compare.h"
#include "tools/compare_tensors/tensor_comparison.h"

namespace coterie {

// A graph is computed by the interpreter, a model file by this CPU's kernels; both get the same inputs. Errors name the
// file: those of its reader, of inputs_for(), of random_inputs() and of trace_of().
Result<TensorComparison> compare_graphs(const CompareModelsOptions& options);

}  // namespace coterie
