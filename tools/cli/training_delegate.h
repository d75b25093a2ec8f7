// The delegate of `coterie model train --delegate`, and what it took of the training.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "device_sdk/runtime/delegate/training_delegation.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// Outlives the trainer.
class TrainingDelegate {
 public:
  // Null where `name` is empty. Errors: those of open_delegate.
  static Result<std::unique_ptr<TrainingDelegate>> open(const std::string& name, const Model& model);

  TrainingDelegation& parts() { return delegation_; }
  // Which op of the whole batch is where, and why; and of the smaller ones what differs in it.
  std::string text() const;
  nlohmann::json json() const;  // a list: one a batch size

 private:
  TrainingDelegate(std::shared_ptr<Delegate> delegate, const Model& model);

  const Model model_;
  const std::shared_ptr<Delegate> delegate_;
  TrainingDelegation delegation_;
};

}  // namespace coterie
