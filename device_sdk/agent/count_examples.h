// What a device counts of its examples for a plan with analytics (proto/messages/analytics.h), and its update of it:
// one function for the agent and for tests, which hold it against what all examples together give.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/example_source.h"
#include "proto/messages/analytics.h"
#include "proto/messages/checkin.h"
#include "proto/messages/update.h"

namespace coterie {

// The device's lanes. Where there are more than values_max examples it reads so many, drawn by `seed`. The rules are
// valid. Errors: the source's, such as that its examples have another size.
Result<std::vector<float>> count_examples(const AnalyticsRules& rules, ExampleSource& examples, uint64_t seed);

// The same as an update of the assignment's round, encoded. Its header says that no example was trained on: how many
// the device has would be a release beside the sum. The plan has analytics.
Result<Bytes> counted_update(const Plan& plan, const Assignment& assignment, ExampleSource& examples, uint64_t seed);

}  // namespace coterie
