#include "tools/model/zoo.h"

#include <string>

#include "device_sdk/runtime/model_builder.h"

namespace coterie {
namespace {

constexpr ModelKind kKinds[] = {ModelKind::mlp, ModelKind::logistic, ModelKind::cnn, ModelKind::lenet5};

// The features of an example in one row.
TensorId row_of(ModelBuilder& build, const Shape& input_shape) {
  return input_shape.size() == 1 ? build.input() : build.flatten(build.input());
}

TensorId add_mlp(ModelBuilder& build, const Shape& input_shape, uint32_t classes) {
  const bool is_large_image = input_shape.size() == 3 && input_shape[0] >= 28 && input_shape[1] >= 28;
  const TensorId x = build.relu(build.dense(row_of(build, input_shape), is_large_image ? 128 : 64));
  return build.dense(x, classes);
}

TensorId add_logistic(ModelBuilder& build, const Shape& input_shape, uint32_t classes) {
  return build.dense(row_of(build, input_shape), classes);
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
    case ModelKind::logistic: return "logistic";
  }
  return "unknown";
}

std::optional<ModelKind> model_kind_from(std::string_view name) {
  for (const ModelKind kind : kKinds) {
    if (to_string(kind) == name) return kind;
  }
  return std::nullopt;
}

std::vector<std::string> model_kind_names() {
  std::vector<std::string> names;
  for (const ModelKind kind : kKinds) names.emplace_back(to_string(kind));
  return names;
}

Result<Bytes> make_model(ModelKind kind, const Shape& input_shape, uint32_t classes, uint64_t seed) {
  const bool takes_rows = kind == ModelKind::mlp || kind == ModelKind::logistic;
  if (input_shape.empty() || (!takes_rows && input_shape.size() != 3)) {
    std::string shape;
    for (const int64_t size : input_shape) shape += (shape.empty() ? "" : " x ") + std::to_string(size);
    return Error(ErrorCode::invalid_argument,
                 std::string(to_string(kind)) + " takes images, height x width x channels, and an example is " +
                     (shape.empty() ? "one number" : shape) + "; mlp and logistic take rows");
  }
  if (classes < 1) return Error(ErrorCode::invalid_argument, "there must be at least one class");
  ModelBuilder build(std::string(to_string(kind)), input_shape, seed);
  switch (kind) {
    case ModelKind::mlp: return build.finish(add_mlp(build, input_shape, classes));
    case ModelKind::cnn: return build.finish(add_cnn(build, classes));
    case ModelKind::lenet5: return build.finish(add_lenet5(build, classes));
    case ModelKind::logistic: return build.finish(add_logistic(build, input_shape, classes));
  }
  return Error(ErrorCode::invalid_argument, "unknown model kind");
}

}  // namespace coterie
