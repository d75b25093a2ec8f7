#include "proto/messages/quantised_training_text.h"

#include <algorithm>
#include <array>

namespace coterie {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"weights", "full"};

}  // namespace

std::span<const std::string_view> quantised_parts_names() { return kNames; }

std::string_view to_string(QuantisedParts parts) {
  const size_t i = static_cast<size_t>(parts) - 1;  // 0 becomes huge
  return i < kNames.size() ? kNames[i] : "unknown";
}

Result<QuantisedTraining> parse_quantised_training(std::string_view text) {
  const Error wrong(ErrorCode::invalid_argument,
                    "a training on a grid is full or weights, with 2 to 8 bits of a weight behind a colon (full:4), "
                    "not " +
                        std::string(text.substr(0, 40)));
  const size_t colon = text.find(':');
  const auto found = std::ranges::find(kNames, text.substr(0, colon));
  if (found == kNames.end()) return wrong;
  QuantisedTraining training{.parts = static_cast<QuantisedParts>(found - kNames.begin() + 1)};
  if (colon == std::string_view::npos) return training;
  const std::string_view bits = text.substr(colon + 1);
  if (bits.size() != 1 || bits[0] < '0' + static_cast<char>(kWeightBitsMin) ||
      bits[0] > '0' + static_cast<char>(kWeightBitsMax)) {
    return wrong;
  }
  training.weight_bits = static_cast<uint32_t>(bits[0] - '0');
  return training;
}

std::string to_text(const QuantisedTraining& training) {
  const std::string parts(to_string(training.parts));
  return training.weight_bits == kWeightBitsMax ? parts : parts + ":" + std::to_string(training.weight_bits);
}

}  // namespace coterie
