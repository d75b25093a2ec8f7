#include "tools/model/zoo.h"

#include <string>

#include "device_sdk/runtime/model_builder.h"

namespace coterie {
namespace {

TensorId add_mlp(ModelBuilder& build, const Shape& input_shape, uint32_t classes) {
  const uint32_t hidden = input_shape[0] >= 28 && input_shape[1] >= 28 ? 128 : 64;
  const TensorId x = build.relu(build.dense(build.flatten(build.input()), hidden));
  return build.dense(x, classes);
}

TensorId add_cnn(ModelBuilder& build, uint32_t classes) {
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 16, .kernel = 3, .pad = 1}));
  x = build.relu(build.conv2d(x, {.filters = 32, .kernel = 3, .pad = 1}));
  x = build.flatten(build.max_pool2d(x, {.kernel = 2, .stride = 2}));
  x = build.relu(build.dense(x, 64));
  return build.dense(x, classes);
}

TensorId add_lenet5(ModelBuilder& build, uint32_t classes) {
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 6, .kernel = 5, .pad = 2}));
  x = build.max_pool2d(x, {.kernel = 2, .stride = 2});
  x = build.relu(build.conv2d(x, {.filters = 16, .kernel = 5}));
  x = build.flatten(build.max_pool2d(x, {.kernel = 2, .stride = 2}));
  x = build.relu(build.dense(x, 120));
  x = build.relu(build.dense(x, 84));
  return build.dense(x, classes);
}

}  // namespace

std::string_view to_string(ModelKind kind) {
  switch (kind) {
    case ModelKind::mlp: return "mlp";
    case ModelKind::cnn: return "cnn";
    case ModelKind::lenet5: return "lenet5";
  }
  return "unknown";
}

std::optional<ModelKind> model_kind_from(std::string_view name) {
  for (const ModelKind kind : {ModelKind::mlp, ModelKind::cnn, ModelKind::lenet5}) {
    if (to_string(kind) == name) return kind;
  }
  return std::nullopt;
}

Result<Bytes> make_model(ModelKind kind, const Shape& input_shape, uint32_t classes, uint64_t seed) {
  if (input_shape.size() != 3) {
    return Error(ErrorCode::invalid_argument, "the input shape must be height x width x channels");
  }
  if (classes < 1) return Error(ErrorCode::invalid_argument, "there must be at least one class");
  ModelBuilder build(std::string(to_string(kind)), input_shape, seed);
  switch (kind) {
    case ModelKind::mlp: return build.finish(add_mlp(build, input_shape, classes));
    case ModelKind::cnn: return build.finish(add_cnn(build, classes));
    case ModelKind::lenet5: return build.finish(add_lenet5(build, classes));
  }
  return Error(ErrorCode::invalid_argument, "unknown model kind");
}

}  // namespace coterie
