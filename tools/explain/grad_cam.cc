#include "tools/explain/grad_cam.h"

#include <algorithm>

#include "base/text/suggest.h"
#include "device_sdk/runtime/bilinear_resize.h"
#include "device_sdk/runtime/graph_index.h"

namespace coterie {
namespace {

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "grad_cam: " + what); }

bool is_behind_convolution(OpKind kind) {
  return kind == OpKind::batch_norm || kind == OpKind::relu || kind == OpKind::relu6;
}

// A dimension of -1 is the batch.
bool are_maps(const Model& model, uint32_t tensor) {
  const Shape& shape = model.shape(tensor);
  return model.type(tensor) == DataType::float32 && shape.size() == 4 && shape[0] == -1 && shape[1] > 0 &&
         shape[2] > 0 && shape[3] > 0;
}

// Those that may be read, the last first.
std::vector<std::string> layers_with_maps(const Model& model, const GraphIndex& index) {
  std::vector<std::string> names;
  for (uint32_t i = static_cast<uint32_t>(model.graph().ops.size()); i-- > 0;) {
    const OpInfo& op = model.graph().ops[i];
    if (index.is_needed[i] && are_maps(model, op.outputs[0])) names.push_back(op.name);
  }
  return names;
}

std::string which_has_maps(const std::vector<std::string>& names) {
  return names.empty() ? "; no layer gives feature maps" : "; feature maps are given by `" + names[0] + "`";
}

}  // namespace

Result<uint32_t> find_feature_maps(const Model& model, const std::string& layer) {
  const ModelGraph& graph = model.graph();
  const GraphIndex index(graph);
  const auto read_maps = [&](uint32_t tensor) -> Result<uint32_t> {
    if (are_maps(model, tensor)) return tensor;
    const OpInfo& maker = graph.ops[index.producer[tensor]];
    return bad("the layer " + maker.name + " gives no [height, width, channels]" +
               which_has_maps(layers_with_maps(model, index)));
  };
  for (uint32_t i = static_cast<uint32_t>(graph.ops.size()); i-- > 0;) {
    const OpInfo& op = graph.ops[i];
    if (!index.is_needed[i]) continue;
    if (!layer.empty()) {
      if (op.name == layer) return read_maps(op.outputs[0]);
      continue;
    }
    if (op.kind != OpKind::conv2d && op.kind != OpKind::conv_transpose2d) continue;
    uint32_t tensor = op.outputs[0];
    while (index.has_one_reader(tensor) && index.consumers[tensor][0] != kNoOp &&
           is_behind_convolution(graph.ops[index.consumers[tensor][0]].kind)) {
      tensor = graph.ops[index.consumers[tensor][0]].outputs[0];
    }
    return read_maps(tensor);
  }
  const std::vector<std::string> names = layers_with_maps(model, index);
  if (layer.empty()) return bad("the model has no convolution, name a layer (--layer)" + which_has_maps(names));
  const std::string meant = or_meant(layer, names);
  return bad("the model has no layer " + layer + (meant.empty() ? which_has_maps(names) : meant));
}

Result<Attribution> attribute_by_grad_cam(AskedModel& model, std::span<const float> input, uint32_t picked,
                                          const AttributionSettings& settings) {
  const Shape& image = model.input_shape();
  if (image.size() != 3) return bad("is for images [height, width, channels]");
  COT_ASSIGN(const uint32_t maps, find_feature_maps(model.model(), settings.layer));
  COT_ASSIGN(Gradients gradients, Gradients::create(model.model(), {maps}, 1));
  COT_TRY(gradients.run(input, picked));
  const Shape& shape = model.model().shape(maps);
  const auto height = static_cast<size_t>(shape[1]), width = static_cast<size_t>(shape[2]),
             channels = static_cast<size_t>(shape[3]), pixels = height * width;
  const std::span<const float> value = gradients.value(0), slope = gradients.gradient(0);
  std::vector<double> weight(channels);
  for (size_t i = 0; i < slope.size(); ++i)
    weight[i % channels] += static_cast<double>(slope[i]) / static_cast<double>(pixels);
  std::vector<float> small(pixels);
  for (size_t pixel = 0; pixel < pixels; ++pixel) {
    double sum = 0;
    for (size_t c = 0; c < channels; ++c) sum += weight[c] * static_cast<double>(value[pixel * channels + c]);
    small[pixel] = static_cast<float>(std::max(sum, 0.0));
  }
  const ImageSize size{static_cast<size_t>(image[0]), static_cast<size_t>(image[1])};
  Attribution made{{image[0], image[1]}, std::vector<float>(size.height * size.width)};
  BilinearResize({height, width}, size, 1).run(small, made.values);
  return made;
}

}  // namespace coterie
