#include "tools/debug/record_folder.h"

#include <charconv>

#include "base/os/file.h"
#include "device_sdk/runtime/seal.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr std::string_view kBegin = "step-", kEnd = ".record";
constexpr size_t kDigits = 10;  // names are in the order of their steps
constexpr std::string_view kUnfinished =
    ".unfinished.";  // of a process that was killed while it wrote (temporary_file.h)
constexpr uint64_t kModelBytesMax = 4ull << 30;

std::string name_of(uint64_t step) {
  const std::string digits = std::to_string(step);
  return std::string(kBegin) + std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits +
         std::string(kEnd);
}

std::optional<uint64_t> step_in(std::string_view name) {
  if (name.size() != kBegin.size() + kDigits + kEnd.size() || !name.starts_with(kBegin) || !name.ends_with(kEnd)) {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(kBegin.size(), kDigits);
  uint64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return step;
}

Result<Model> read_model(const std::string& path) {
  COT_ASSIGN(Bytes file, os::read_file(path, kModelBytesMax));
  if (const Result<Seal> seal = check_seal(file); !seal) return seal.error().with_context(path);
  Result<Model> model = Model::load(std::move(file));
  if (!model) return model.error().with_context(path);
  return model;
}

}  // namespace

Result<RecordFolder> RecordFolder::create(const std::string& path, const Model& model, std::vector<bool> is_trained,
                                          uint64_t steps_an_epoch, uint64_t bytes_max) {
  if (os::exists(path)) {
    const Result<std::vector<std::string>> names = os::list_directory(path);
    if (!names || !names->empty()) {
      return Error(ErrorCode::conflict, path + " is there already, and no empty folder: name another one");
    }
  }
  COT_TRY(os::make_directories(path));
  COT_TRY(os::write_file_atomically(path + "/" + std::string(kRecordedModel), model.file()));
  RecordedTraining training{
      .model = model.digest(), .is_trained = std::move(is_trained), .steps_an_epoch = steps_an_epoch};
  return RecordFolder(path, std::move(training), bytes_max);
}

Status RecordFolder::add(const StepRecord& record) {
  const Bytes file = encode_record(training_, record);
  if (file.size() > bytes_max_) {
    return Error(ErrorCode::too_large, "a recorded step is " + format_bytes(file.size()) + ", and " + path_ +
                                           " may have " + format_bytes(bytes_max_) +
                                           ": raise --record-max, or take a smaller --batch or --micro-batch");
  }
  while (bytes_ + file.size() > bytes_max_) {
    COT_TRY(os::remove_file(kept_.front().first));
    bytes_ -= kept_.front().second;
    kept_.pop_front();
    dropped_ += 1;
  }
  const std::string name = path_ + "/" + name_of(record.step);
  COT_TRY(os::write_file_atomically(name, file, os::Durability::process));
  kept_.emplace_back(name, file.size());
  bytes_ += file.size();
  return {};
}

Result<std::unique_ptr<RecordedSteps>> RecordedSteps::open(const std::string& path) {
  COT_ASSIGN(const std::vector<std::string> names, os::list_directory(path));
  std::vector<Entry> entries;
  bool has_model = false;
  for (const std::string& name : names) {
    if (name == kRecordedModel) {
      has_model = true;
    } else if (const std::optional<uint64_t> step = step_in(name)) {
      entries.push_back({*step, path + "/" + name});
    } else if (name.find(kUnfinished) == std::string::npos) {
      return Error(ErrorCode::malformed, path + " is no folder of recorded steps: it has a file " + name);
    }
  }
  const std::string expected = path + " is no folder of recorded steps (`model train --record` makes one): ";
  if (!has_model) return Error(ErrorCode::not_found, expected + "it has no " + std::string(kRecordedModel));
  if (entries.empty()) return Error(ErrorCode::not_found, expected + "it has no step");
  if (entries.size() > kRecordedStepsMax) {
    return Error(ErrorCode::too_large, path + " has " + format_count(entries.size()) + " steps, at most " +
                                           format_count(kRecordedStepsMax) + " are read");
  }
  COT_ASSIGN(Model model, read_model(path + "/" + std::string(kRecordedModel)));
  std::unique_ptr<RecordedSteps> steps(new RecordedSteps(std::move(model), std::move(entries)));
  COT_ASSIGN(RecordFile first, steps->read(steps->entries_[0]));
  steps->training_ = std::move(first.training);
  return steps;
}

Result<RecordFile> RecordedSteps::read(const Entry& entry) const {
  COT_ASSIGN(Bytes bytes, os::read_file(entry.path, kRecordFileBytesMax));
  Result<RecordFile> file = decode_record(std::move(bytes), model_);
  if (!file) return file.error().with_context(entry.path);
  if (file->record.step != entry.step) {
    return Error(ErrorCode::malformed, entry.path + ": is of step " + std::to_string(file->record.step));
  }
  return file;
}

Result<StepRecord> RecordedSteps::record_at(size_t index) const {
  COT_ASSIGN(RecordFile file, read(entries_[index]));
  if (file.training != training_) return Error(ErrorCode::conflict, entries_[index].path + ": is of another training");
  return std::move(file.record);
}

std::string RecordedSteps::description() const {
  return counted(entries_.size(), "recorded step") + ", from " + std::to_string(entries_.front().step) + " to " +
         std::to_string(entries_.back().step);
}

std::optional<uint64_t> RecordedSteps::next() const {
  return next_ < entries_.size() ? std::optional(entries_[next_].step) : std::nullopt;
}

Status RecordedSteps::forward() {
  if (next_ == entries_.size()) return Error(ErrorCode::conflict, "no later step is recorded");
  COT_ASSIGN(StepRecord record, record_at(next_));
  before_ = std::exchange(now_, std::move(record));
  next_ += 1;
  return {};
}

Status RecordedSteps::back(uint64_t steps, const std::function<bool()>&) {
  const uint64_t here = next_;
  now_.reset();
  before_.reset();
  next_ = 0;
  if (steps >= here) return {};
  const size_t target = static_cast<size_t>(here - steps);  // behind so many of them
  next_ = target > 1 ? target - 2 : 0;
  while (next_ < target) COT_TRY(forward());
  return {};
}

Status RecordedSteps::visit_records(const std::function<bool(const StepRecord&)>& visit) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    COT_ASSIGN(const StepRecord record, record_at(i));
    if (!visit(record)) break;
  }
  return {};
}

}  // namespace coterie
