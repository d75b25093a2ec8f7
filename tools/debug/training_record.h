// TrainingRecord: the steps of a training that are recorded, written into a folder while it runs.
#pragma once

#include "tools/debug/record_folder.h"
#include "tools/debug/step_recorder.h"

namespace coterie {

class TrainingRecord {
 public:
  // For one trainer of `model`, which outlives it: the steps 0, every, 2 every, ..., and one that fails.
  TrainingRecord(const Model& model, const std::vector<bool>& is_trained, RecordFolder folder, uint32_t every)
      : recorder_(model, is_trained), folder_(std::move(folder)), every_(every) {}

  // Trainer::step. Errors: its own, and those of writing.
  Status step(Trainer& trainer);
  const RecordFolder& folder() const { return folder_; }

 private:
  Status recorded(Trainer& trainer);

  StepRecorder recorder_;
  RecordFolder folder_;
  uint32_t every_;
};

}  // namespace coterie
