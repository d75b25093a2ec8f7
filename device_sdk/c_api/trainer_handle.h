// coterie_trainer: a training with what it was opened with, and who looks at it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device_sdk/c_api/handle.h"
#include "device_sdk/c_api/host_callbacks.h"
#include "device_sdk/runtime/lora.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"
#include "device_sdk/runtime/trainer.h"
#include "device_sdk/watch/watch.h"

struct coterie_trainer : coterie::Handle {
  coterie_trainer(const coterie::Model& opened, coterie::HostDataset examples)
      : model(opened), dataset(std::move(examples)) {}

  coterie::Model model;  // as it was opened
  std::optional<coterie::LoraSettings> lora;
  std::optional<coterie::Model> adapted;  // what is trained in its place, with companions
  std::vector<float> merged;
  coterie::HostDataset dataset;
  coterie::TrainOptions options;
  uint64_t memory_budget_bytes = 0;  // 0: none
  std::optional<coterie::Trainer> trainer;
  double step_loss = 0;
  std::unique_ptr<coterie::Watch> watch;  // null: nothing is watched

  const coterie::Model& trained() const { return adapted ? *adapted : model; }
  coterie::Status step();
  // Watches from the next step on.
  coterie::Status begin_watch(const std::string& asked);
  // As they are now, of the model as it was opened; good until the next call.
  std::span<const float> parameters();
  coterie_train_progress progress() const;
};
