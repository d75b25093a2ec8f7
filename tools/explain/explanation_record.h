// ExplanationRecord: what a run's folder says of one explanation: explanations/STEM.json, beside its picture STEM.png.
// `coterie model explain --run` writes both, and `coterie console --run` shows them. Pure.
//
// A file is a stranger's: parse_explanation() takes what an own one may have, and nothing else.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/explain/attribution_checks.h"

namespace coterie {

inline constexpr const char* kExplanationsFolder = "explanations";  // in a run's
inline constexpr size_t kExplanationStemCharsMax = 64;
inline constexpr size_t kExplanationTextBytesMax = 256;  // of one of its texts
inline constexpr uint64_t kExplanationJsonBytesMax = 16 << 10;

struct ExplanationRecord {
  std::string method;    // a name of attribution_methods()
  Digest model_digest;   // of the model's file
  std::string data;      // as whoever explained named it
  uint64_t example = 0;  // counted from 0
  std::optional<uint32_t> label;
  uint32_t output = 0;     // that is explained
  uint32_t predicted = 0;  // that is the highest
  double score = 0;        // of the explained one
  std::optional<CheckedExample> checked;
};

// The same for the same method, example and output.
std::string explanation_stem(const ExplanationRecord& record);
// 1 to kExplanationStemCharsMax of a-z, 0-9, '_' and '-': no path, and no name that a file system takes otherwise.
bool is_explanation_stem(std::string_view text);

nlohmann::json to_json(const ExplanationRecord& record);
// Errors: invalid_argument (with all that is wrong).
Result<ExplanationRecord> parse_explanation(std::string_view text);

}  // namespace coterie
