// A QuantisedTraining as people write it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "proto/messages/quantised_training.h"

namespace coterie {

std::span<const std::string_view> quantised_parts_names();  // in the enum's order
std::string_view to_string(QuantisedParts parts);

// "full", "weights", "full:4" (with the bits of weights). invalid_argument.
Result<QuantisedTraining> parse_quantised_training(std::string_view text);
std::string to_text(const QuantisedTraining& training);  // which that reads

}  // namespace coterie
