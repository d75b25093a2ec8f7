// The variants of a job that a sweep trains: every combination of some settings, or some by name. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace coterie {

// One field of a job: its keys from the outside in, and what it becomes.
struct FieldValue {
  std::string path;   // "training.optimizer.learning_rate"
  std::string value;  // JSON
  friend bool operator==(const FieldValue&, const FieldValue&) = default;
};

// A setting of a grid: one field, some values.
struct FieldValues {
  std::string path;
  std::vector<std::string> values;  // JSON
};

// "training.batch_size=8,16": what is JSON is taken as JSON, the rest as text. Commas within brackets or quotes divide
// nothing. invalid_argument: no `=`, an empty path or key, no value.
Result<FieldValues> parse_field_values(std::string_view text);

// "strategy.kind=fedadam;training.local_epochs=1": one variant of a list.
Result<std::vector<FieldValue>> parse_variant(std::string_view text);

struct JobVariant {
  std::string name;  // "kind=fedadam, local_epochs=1"; "the job" if nothing is set
  std::vector<FieldValue> fields;
};

// Each of `list` (the job as it is, if there is none) with each combination of `grid`, the last setting changing first.
// Names have as much of each path as tells it from the others. too_large: more than kVariantsMax; invalid_argument: a
// field twice in one variant.
Result<std::vector<JobVariant>> variants_of(const std::vector<std::vector<FieldValue>>& list,
                                            const std::vector<FieldValues>& grid);

// The job with these fields; objects on the way are made. invalid_argument: something on the way is no object.
Result<nlohmann::json> with_fields(nlohmann::json job, const std::vector<FieldValue>& fields);

}  // namespace coterie
