#include "device_sdk/agent/state_files.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/os/file.h"
#include "device_sdk/agent/round_vault.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/domain_fields.h"

namespace coterie {
namespace {

constexpr std::string_view kPrefix = "state-", kFileSuffix = ".cotf", kKeySuffix = ".key";

std::string stem_of(const Digest& content) { return std::string(kPrefix) + content.hex(); }

ByteView bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

// Whoever swaps two files of a device, of other jobs or of other rounds, is found out.
Digest content_of(const JobId& job, const StateSlot& slot, std::span<const float> values) {
  ContentDigester digester;
  digester.update(DomainFields("coterie/v1/device-state")
                      .add(std::string_view(job.value()))
                      .add(uint64_t{static_cast<uint8_t>(slot.kind)})
                      .add(slot.version.value())
                      .add(slot.model.view())
                      .add(slot.before.view())
                      .add(uint64_t{values.size()})
                      .view());
  digester.update(bytes_of(values));
  return digester.finish();
}

Error lost(const JobId& job, const std::string& why) {
  return Error(ErrorCode::data_loss, "the state that this device keeps of job " + job.value() + " " + why);
}

}  // namespace

Result<Digest> StateFiles::write(const JobId& job, const StateSlot& slot, std::span<const float> values) const {
  const Digest content = content_of(job, slot, values);
  const std::string stem = stem_of(content);
  const ByteView bytes = bytes_of(values);
  // A key for each state: to forget one state its key is erased, whatever blocks of the disk still hold the file.
  COT_TRY(RoundVault(directory_, stem + std::string(kKeySuffix))
              .write_file(stem + std::string(kFileSuffix), Bytes(bytes.begin(), bytes.end())));
  return content;
}

Result<std::vector<float>> StateFiles::read(const JobId& job, const StateSlot& slot, uint64_t value_count) const {
  const std::string stem = stem_of(slot.content);
  const Result<Bytes> bytes = RoundVault(directory_, stem + std::string(kKeySuffix))
                                  .read_file(stem + std::string(kFileSuffix), value_count * sizeof(float));
  if (!bytes) {
    const ErrorCode code = bytes.error().code();
    const bool is_gone = code == ErrorCode::not_found || code == ErrorCode::data_loss || code == ErrorCode::too_large;
    return is_gone ? lost(job, "is gone: " + bytes.error().message()) : bytes.error();
  }
  if (bytes->size() != value_count * sizeof(float)) {
    return lost(
        job, "has " + std::to_string(bytes->size()) + " bytes, the model " + std::to_string(value_count) + " values");
  }
  std::vector<float> values(value_count);
  std::memcpy(values.data(), bytes->data(), bytes->size());
  // It was trained here and is sealed, but a NaN would go into every later update without anybody seeing where it came
  // from.
  const bool is_finite = std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
  if (!is_finite || content_of(job, slot, values) != slot.content) return lost(job, "is another one's");
  return values;
}

void StateFiles::keep_only(const ParticipantState& state) const {
  std::set<std::string> named;
  const auto add = [&](const StateSlot& slot) { named.insert(stem_of(slot.content)); };
  for (const auto& [job, kept] : state.states) {
    add(kept.slot);
    if (kept.previous) add(*kept.previous);
  }
  if (state.staged) add(*state.staged);
  const Result<std::vector<std::string>> names = os::list_directory(directory_);
  if (!names) return;
  for (const std::string& name : *names) {
    if (!name.starts_with(kPrefix) || named.contains(name.substr(0, name.find('.')))) continue;
    // The key is found by its own name, whatever became of the file.
    if (name.ends_with(kKeySuffix)) (void)os::erase_file(directory_ + "/" + name);
    else (void)os::remove_file(directory_ + "/" + name);
  }
}

}  // namespace coterie
