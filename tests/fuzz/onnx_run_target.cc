// Any bytes as an ONNX graph that is computed as it stands, from inputs drawn of the shapes that it declares: an error,
// or outputs that hold as many elements as their shapes have.
#include <set>
#include <string>

#include "base/assert.h"
#include "model_import/interpret/interpret.h"
#include "model_import/onnx/read_onnx.h"
#include "tools/model/random_inputs.h"

namespace {

using namespace coterie;
using model_import::Array;
using model_import::Form;

void check_whole(const Array& array) {
  for (const Array& item : array.items) check_whole(item);
  if (array.form != Form::tensor && array.form != Form::text) return;
  uint64_t elements = 1;
  for (const int64_t size : array.shape) {
    COT_ASSERT(size >= 0);
    elements *= static_cast<uint64_t>(size);
  }
  COT_ASSERT((array.form == Form::text ? array.texts.size() : array.values.size()) == elements);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<model_import::Graph> graph = model_import::read_onnx({data, size});
  if (!graph) {
    COT_ASSERT(graph.error().code() != ErrorCode::internal);
    return 0;
  }
  const Result<model_import::Arrays> inputs =
      random_inputs(*graph, {{"length", 3}}, declared_batch(*graph, 2), size, 1);
  if (!inputs) {
    COT_ASSERT(inputs.error().code() != ErrorCode::internal);
    return 0;
  }
  std::set<std::string> wanted;
  for (const model_import::GraphValue& output : graph->outputs) wanted.insert(output.name);
  const Result<model_import::Arrays> outputs =
      model_import::interpret(*graph, *inputs, wanted, model_import::Intent::specification);
  if (!outputs) {
    COT_ASSERT(outputs.error().code() != ErrorCode::internal);
    return 0;
  }
  for (const auto& [name, array] : *outputs) check_whole(array);
  return 0;
}
