#include <algorithm>

#include "model_import/weights/pickle_value.h"

namespace coterie::model_import {
namespace {

using enum PickleCallable;

struct Row {
  std::string_view module, name;
  PickleGlobal global;
};
// clang-format off
constexpr Row kCallables[] = {
    {"collections", "OrderedDict", {ordered_dict}},
    {"torch._utils", "_rebuild_tensor_v2", {rebuild_tensor}},
    {"torch._utils", "_rebuild_parameter", {rebuild_parameter}},
    {"torch", "Size", {size}},
    {"torch", "FloatStorage", {storage, WeightType::float32}},
    {"torch", "DoubleStorage", {storage, WeightType::float64}},
    {"torch", "HalfStorage", {storage, WeightType::float16}},
    {"torch", "BFloat16Storage", {storage, WeightType::bfloat16}},
    {"torch", "LongStorage", {storage, WeightType::int64}},
    {"torch", "IntStorage", {storage, WeightType::int32}},
    {"torch", "ShortStorage", {storage, WeightType::int16}},
    {"torch", "CharStorage", {storage, WeightType::int8}},
    {"torch", "ByteStorage", {storage, WeightType::uint8}},
    {"torch", "BoolStorage", {storage, WeightType::boolean}},
};
// clang-format on

}  // namespace

Result<PickleGlobal> pickle_global(const std::string& module, const std::string& name) {
  const auto* const row = std::find_if(std::begin(kCallables), std::end(kCallables),
                                       [&](const Row& r) { return r.module == module && r.name == name; });
  if (row != std::end(kCallables)) return row->global;
  const std::string what = module + "." + name;
  const bool is_module = module.starts_with("torch.nn") || module == "__main__" || module.starts_with("torchvision");
  return Error(ErrorCode::invalid_argument,
               "names " + what +
                   (is_module ? ", so a whole module was saved: save its weights, torch.save(net.state_dict(), FILE)"
                              : ", which no state dict needs, and nothing of a file is executed: "
                                "save torch.save(net.state_dict(), FILE)"));
}

}  // namespace coterie::model_import
