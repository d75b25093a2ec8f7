#include "device_sdk/runtime/answer_shapes.h"

#include "base/text/concat.h"
#include "proto/messages/model_outputs.h"

namespace coterie {
namespace {

Error malformed(std::string_view what) { return Error(ErrorCode::malformed, concat({"model: ", what})); }

}  // namespace

Result<Shape> shape_of_one_example(const Shape& output) {
  if (output.empty() || output[0] >= 0) return malformed("its output does not begin with the batch dimension");
  Shape one(output.begin() + 1, output.end());
  if (output[0] != -1) one.insert(one.begin(), -output[0]);
  for (const int64_t dimension : one) {
    if (dimension < 0) return malformed("its output has the batch in two dimensions");
  }
  return one;
}

std::vector<ModelOutput> model_outputs(const Model& model) {
  const ModelGraph& graph = model.graph();
  std::vector<uint32_t> tensors = further_outputs(graph);
  tensors.insert(tensors.begin(), graph.output);
  std::vector<ModelOutput> outputs;
  for (const uint32_t tensor : tensors) {
    Result<Shape> shape = shape_of_one_example(model.shape(tensor));  // Model::load has seen that it has one
    outputs.push_back({tensor, graph.tensors[tensor].name, model.type(tensor), shape ? std::move(*shape) : Shape()});
  }
  return outputs;
}

}  // namespace coterie
