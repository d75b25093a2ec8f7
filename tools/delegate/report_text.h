// What a delegate has taken of a model, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "device_sdk/runtime/delegate/delegated_predictor.h"
#include "device_sdk/runtime/delegate/training_delegation.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// A sentence: "onednn 2.6.3 computes 4 of 6 ops, 98.2% of the operations".
std::string delegate_summary(const Model& model, const DelegateReport& report);
// That, a table of parts with their borders and checks, and a table of all ops: where each is, and why.
std::string delegate_text(const Model& model, const DelegateReport& report);
nlohmann::json delegate_json(const Model& model, const DelegateReport& report);

// The same of a training: of its first batch size all, of the others a sentence and what was refused.
std::string training_delegate_text(const Model& model, const std::vector<TrainingDelegation::Batch>& batches);
nlohmann::json training_delegate_json(const Model& model, const std::vector<TrainingDelegation::Batch>& batches);

}  // namespace coterie
