#include "fl_server/serving/serving_step.h"

#include <algorithm>
#include <cmath>

#include "fl_server/json/json_reader.h"
#include "fl_server/serving/infer_rows.h"

namespace coterie {

std::string shown_type(const ValueType& type) {
  std::string text = std::string(protocol_name(type.type)) + " [";
  for (size_t i = 0; i < type.shape.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(type.shape[i]);
  return text + "]";
}

bool has_any_size(const Shape& shape) { return std::ranges::find(shape, kAnySize) != shape.end(); }

Error wrong_type(const ValueType& seen, const std::string& expected) {
  return Error(ErrorCode::invalid_argument, "is " + shown_type(seen) + ", expected " + expected);
}

Shape read_shape(JsonReader& reader, const char* key, bool may_be_any) {
  std::vector<double> sizes;
  reader.read(key, sizes);
  if (sizes.size() > kShapeRankMax) {
    reader.problem(key, "must have at most 16 sizes");
    return {};
  }
  Shape shape;
  for (const double size : sizes) {
    const bool is_any = may_be_any && size == static_cast<double>(kAnySize);
    if (!is_any && (size < 1 || size > INT32_MAX || size != std::floor(size))) {
      reader.problem(key, std::string("must have whole sizes of at least 1") +
                              (may_be_any ? ", or -1 for one that each request chooses" : ""));
      return {};
    }
    shape.push_back(static_cast<int64_t>(size));
  }
  return shape;
}

StepResult make_step(const std::string& kind, JsonReader& settings, const StepFiles& files) {
  StepResult step = make_picture_step(kind, settings);
  if (step && !*step) step = make_number_step(kind, settings);
  if (step && !*step) step = make_table_step(kind, settings, files);
  if (step && !*step) step = make_class_step(kind, settings, files);
  if (step && !*step) {
    settings.problem("step",
                     "must be one of: decode_image, resize, centre_crop, scale, normalise, cast, reshape, columns, "
                     "softmax, sigmoid, top_k, argmax, threshold");
  }
  return step;
}

}  // namespace coterie
