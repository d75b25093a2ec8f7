// Whether devices could evaluate a model so: what a job's creation asks beforehand, and each device of what it fetched.
#pragma once

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "proto/messages/analytics.h"

namespace coterie {

// invalid_argument: the model has several inputs, or takes or says other numbers than the rules' examples and classes
// have; of kind activation_ranges, it has not the tensors. The rules are valid, of one of both kinds.
Status check_evaluated(const AnalyticsRules& rules, const Model& model);

}  // namespace coterie
