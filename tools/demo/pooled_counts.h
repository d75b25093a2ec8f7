// What all examples of all devices together say, counted one by one without rounds and sums, and how far the table of a
// job with analytics is from it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace coterie {

struct DemoData;
struct HorizontalSettings;

// Examples of the device that has most of them; 1 if none has any.
uint64_t most_examples(const DemoData& data);

// A sentence on the answer of such a job, as the admin plane tells it, where all devices were asked in each round.
// Precondition: the job has analytics of a column of the data. Errors: those of reading the devices' examples.
Result<std::string> verdict_on(const nlohmann::json& answer, const HorizontalSettings& job, const DemoData& data);

}  // namespace coterie
