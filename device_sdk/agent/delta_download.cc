#include "device_sdk/agent/delta_download.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/os/file.h"
#include "device_sdk/agent/model_download.h"
#include "proto/delta/apply_delta.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

using Made = Result<std::optional<Outcome<Digest>>>;

// The shortest part of the chain that begins with a model of `kept`, if it has fewer bytes than the whole model.
std::span<const DeltaFile> way_from(const std::vector<Digest>& kept, const DoFetchModel& action) {
  const std::span<const DeltaFile> chain = action.download.deltas;
  uint64_t bytes = 0;
  for (size_t i = chain.size(); i-- > 0;) {
    // Each is less than the whole, so that the sum cannot overflow.
    if (chain[i].bytes >= action.bytes || (bytes += chain[i].bytes) >= action.bytes) return {};
    if (std::ranges::find(kept, chain[i].base) != kept.end()) return chain.subspan(i);
  }
  return {};
}

// Nothing: the server has another file under this name, or none.
Result<std::optional<Outcome<Bytes>>> fetch_delta(const DeltaDownload& means, const DeviceId& device,
                                                  const DeltaFile& delta) {
  using Fetched = std::optional<Outcome<Bytes>>;
  const std::string path = means.directory + "/delta-" + delta.file.hex() + ".cotf";
  COT_ASSIGN(Outcome<Digest> came, download_model(means.api, device, delta.file, delta.bytes, path));
  if (auto* failure = std::get_if<Failure>(&came)) {
    const ErrorCode code = failure->error.code();
    const bool may_come = code != ErrorCode::not_found && code != ErrorCode::refused;
    return may_come ? Fetched(std::move(*failure)) : Fetched();
  }
  if (std::get<Digest>(came) != delta.file) return Fetched();
  COT_ASSIGN(Bytes file, os::read_file(path, delta.bytes));
  if (content_digest(file) != delta.file) {
    COT_TRY(os::remove_file(path));
    return Fetched();
  }
  return Fetched(std::move(file));
}

// Nothing: it has to be fetched whole. Failure: the server could not be asked; what came is used by the next attempt.
Made download_by_deltas(const DeltaDownload& means, const DeviceId& device, const DoFetchModel& action) {
  const std::span<const DeltaFile> way = way_from(means.kept.of(action.job), action);
  if (way.empty()) return Made(std::nullopt);
  const std::string base_path = means.kept.path(action.job, way.front().base);
  const Result<Bytes> kept = os::read_file(base_path, action.bytes);
  if (!kept || content_digest(*kept) != way.front().base) {
    COT_TRY(os::remove_file(base_path));
    return Made(std::nullopt);
  }
  Bytes model = *kept;
  Digest digest = way.front().base;
  for (const DeltaFile& delta : way) {
    COT_ASSIGN(std::optional<Outcome<Bytes>> file, fetch_delta(means, device, delta));
    if (!file) return Made(std::nullopt);
    if (auto* failure = std::get_if<Failure>(&*file)) return Made(Outcome<Digest>(std::move(*failure)));
    Result<MovedModel> next = apply_delta(std::move(model), digest, std::get<Bytes>(*file), action.download.bits);
    if (!next) return Made(std::nullopt);
    model = std::move(next->file);
    digest = content_digest(model);
    if (digest != next->result) return Made(std::nullopt);
  }
  if (digest != action.model) return Made(std::nullopt);
  COT_TRY(os::write_file_atomically(means.kept.path(action.job, action.model), model, os::Durability::content));
  return Made(Outcome<Digest>(action.model));
}

}  // namespace

Result<Outcome<Digest>> fetch_model(const DeltaDownload& means, const DeviceId& device, const DoFetchModel& action,
                                    const std::string& path) {
  if (!action.download.has_deltas()) return download_model(means.api, device, action.model, action.bytes, path);
  std::optional<Outcome<Digest>> made;
  if (!os::exists(path)) {
    COT_ASSIGN(made, download_by_deltas(means, device, action));
  }
  if (!made) {
    COT_ASSIGN(made, download_model(means.api, device, action.model, action.bytes, path));
  }
  const auto* model = std::get_if<Digest>(&*made);
  if (model != nullptr && *model == action.model) means.kept.keep_only(action.job, action.model);
  return *std::move(made);
}

}  // namespace coterie
