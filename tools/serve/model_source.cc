#include "tools/serve/model_source.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "device_sdk/runtime/stored_model_file.h"
#include "secure/crypto/digest.h"
#include "tools/admin/admin_client.h"

namespace coterie {

namespace {

// It did not come, and the next look may have it.
bool may_come_yet(const Result<std::optional<SourcedVersion>>& version) {
  return !version && traits(version.error().code()).retry != RetryClass::never;
}

}  // namespace

Result<std::optional<SourcedVersion>> FileSource::next() {
  COT_ASSIGN(const os::File file, os::File::open_read(path_));
  COT_ASSIGN(const os::FileIdentity identity, file.identity());
  COT_ASSIGN(const WallTime modified, file.modified());
  COT_ASSIGN(const uint64_t size, file.size());
  const Look now{identity, modified, size};
  if (seen_ == now) return std::optional<SourcedVersion>();
  if (size > kFileBytesMax) return Error(ErrorCode::too_large, path_ + " has more than 4 GiB");
  Bytes bytes(size);
  COT_TRY(file.read_exact_at(0, bytes));
  seen_ = now;
  const Digest digest = content_digest(bytes);
  if (number_ > 0 && digest == told_) return std::optional<SourcedVersion>();
  told_ = digest;
  if (computes_in_int8(bytes)) return std::optional(SourcedVersion{std::move(bytes), ++number_});
  Result<Bytes> expanded = expand_model(std::move(bytes));
  if (!expanded) return expanded.error().with_context(path_);
  return std::optional(SourcedVersion{std::move(*expanded), ++number_});
}

JobSource::JobSource(Calls calls, const std::string& job)
    : calls_(std::move(calls)), target_("jobs/" + path_segment(job)) {}

Result<std::optional<SourcedVersion>> JobSource::fetch(uint64_t number) {
  COT_ASSIGN(Bytes file, calls_.download(target_ + "/models/" + std::to_string(number) + "/content"));
  return std::optional(SourcedVersion{std::move(file), number});
}

Result<std::optional<SourcedVersion>> JobSource::next() {
  COT_ASSIGN(const nlohmann::json job, calls_.get(target_));
  const nlohmann::json::json_pointer released("/released/version");
  const bool is_released = job.contains(released) && job[released].is_number_unsigned();
  promoted_ = is_released ? std::optional(job[released].get<uint64_t>()) : std::nullopt;
  // First the promoted one, which may be older than all that are here.
  if (promoted_ && promoted_ != told_promoted_ && promoted_ != newest_) {
    Result<std::optional<SourcedVersion>> version = fetch(*promoted_);
    if (!may_come_yet(version)) told_promoted_ = promoted_;
    return version;
  }
  told_promoted_ = promoted_;  // one that was promoted before may be gone when it is again
  const std::string behind = newest_ ? "?after=" + std::to_string(*newest_) : "";
  COT_ASSIGN(const nlohmann::json list, calls_.get_models(target_ + "/models" + behind));
  std::optional<uint64_t> newest;
  for (const nlohmann::json& model : list.value("models", nlohmann::json::array())) {
    const auto version = model.find("version");
    if (version == model.end() || !version->is_number_unsigned())
      return Error(ErrorCode::malformed, "the server's answer has a model without \"version\"");
    newest = std::max(newest.value_or(0), version->get<uint64_t>());
  }
  if (!newest) {
    if (newest_) return std::optional<SourcedVersion>();
    return Error(ErrorCode::not_found, "the job has no model yet");
  }
  Result<std::optional<SourcedVersion>> version = fetch(*newest);
  if (!may_come_yet(version)) newest_ = newest;
  return version;
}

}  // namespace coterie
