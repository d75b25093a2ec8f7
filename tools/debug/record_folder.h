// A folder of recorded steps: `model.cotf`, the model that the training began with, and a file for each step,
// `step-0000000007.record` (record_file.h).
#pragma once

#include <deque>
#include <string>
#include <utility>

#include "device_sdk/runtime/model.h"
#include "tools/debug/record_file.h"
#include "tools/debug/step_source.h"

namespace coterie {

inline constexpr uint64_t kRecordBytesMax = 1ull << 30;  // of a folder, unless told otherwise
inline constexpr size_t kRecordedStepsMax = 100'000;     // of a folder that is read
inline constexpr std::string_view kRecordedModel = "model.cotf";

// Writes one. Each file is there as a whole or not at all, whenever the process ends.
class RecordFolder {
 public:
  // `bytes_max`: of all recorded steps together; where there are more the oldest go. Errors: conflict (there is
  // something at `path` already), and those of writing.
  static Result<RecordFolder> create(const std::string& path, const Model& model, std::vector<bool> is_trained,
                                     uint64_t steps_an_epoch, uint64_t bytes_max);

  // Errors: too_large (this step alone is more than bytes_max), and those of writing.
  Status add(const StepRecord& record);
  uint64_t steps() const { return kept_.size(); }
  uint64_t dropped() const { return dropped_; }  // the oldest, for which there was no room

 private:
  RecordFolder(std::string path, RecordedTraining training, uint64_t bytes_max)
      : path_(std::move(path)), training_(std::move(training)), bytes_max_(bytes_max) {}

  std::string path_;
  RecordedTraining training_;
  uint64_t bytes_max_;
  uint64_t bytes_ = 0, dropped_ = 0;
  std::deque<std::pair<std::string, uint64_t>> kept_;  // files, with their bytes
};

// Reads one, a step at a time.
class RecordedSteps final : public StepSource {
 public:
  // Errors: not_found (no model or no step in it), malformed (another file in it), too_large (kRecordedStepsMax), and
  // those of reading its model and its first step.
  static Result<std::unique_ptr<RecordedSteps>> open(const std::string& path);

  // --- StepSource
  const Model& model() const override { return model_; }
  const std::vector<bool>& is_trained() const override { return training_.is_trained; }
  uint64_t steps_an_epoch() const override { return training_.steps_an_epoch; }
  std::string description() const override;
  const StepRecord* now() const override { return now_ ? &*now_ : nullptr; }
  const StepRecord* before() const override { return before_ ? &*before_ : nullptr; }
  std::optional<uint64_t> next() const override;
  Status forward() override;
  Status back(uint64_t steps, const std::function<bool()>& is_stopped) override;
  Status visit_records(const std::function<bool(const StepRecord&)>& visit) override;

 private:
  struct Entry {
    uint64_t step = 0;
    std::string path;
  };

  RecordedSteps(Model model, std::vector<Entry> entries) : model_(std::move(model)), entries_(std::move(entries)) {}
  Result<RecordFile> read(const Entry& entry) const;
  Result<StepRecord> record_at(size_t index) const;

  Model model_;
  std::vector<Entry> entries_;  // in the order of their steps
  RecordedTraining training_;
  size_t next_ = 0;  // now_ is the entry in front of it
  std::optional<StepRecord> now_, before_;
};

}  // namespace coterie
