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

uint64_t size_of(const std::string& path) {
  const Result<os::File> file = os::File::open_read(path);
  return file ? file->size().value_or(0) : 0;
}

// Whether the next attempt may get what this one did not.
bool may_come(ErrorCode code, bool has_grown) {
  switch (code) {
    case ErrorCode::cancelled:
    case ErrorCode::rate_limited:
    case ErrorCode::overloaded: return true;  // said of the device or of the server, and not of this file
    case ErrorCode::unavailable:
    case ErrorCode::timed_out: return has_grown;
    default: return false;
  }
}

// Nothing: the server has another file under this name, or none, or cannot send it. An attempt that finds a part of an
// earlier one and adds nothing to it is the last, and so is one of which nothing comes at all.
Result<std::optional<Outcome<Bytes>>> fetch_delta(const DeltaDownload& means, const DeviceId& device,
                                                  const DeltaFile& delta) {
  using Fetched = std::optional<Outcome<Bytes>>;
  const std::string path = means.directory + "/delta-" + delta.file.hex() + ".cotf";
  const std::string part = path + ".part";
  const bool is_first = !os::exists(part);
  const uint64_t size_before = size_of(part);
  COT_ASSIGN(Outcome<Digest> came, download_model(means.api, device, delta.file, delta.bytes, path));
  if (auto* failure = std::get_if<Failure>(&came)) {
    const bool has_grown = size_of(part) > size_before || (is_first && os::exists(part));
    return may_come(failure->error.code(), has_grown) ? Fetched(std::move(*failure)) : Fetched();
  }
  if (std::get<Digest>(came) != delta.file) return Fetched();
  COT_ASSIGN(Bytes file, os::read_file(path, delta.bytes));
  return Fetched(std::move(file));
}

// Where a link of the chain has to lead.
const Digest& end_of(std::span<const DeltaFile> way, size_t link, const DoFetchModel& action) {
  return link + 1 < way.size() ? way[link + 1].base : action.model;
}

// Nothing: it has to be fetched whole. Failure: the server could not be asked; what came is used by the next attempt.
//
// The result alone is hashed: its digest was signed, and no chain of other models leads to it. The kept model is hashed
// before anything is fetched, as damage of it would be paid for in bytes.
Made download_by_deltas(const DeltaDownload& means, const DeviceId& device, const DoFetchModel& action) {
  const std::span<const DeltaFile> way = way_from(means.kept.of(action.job), action);
  if (way.empty()) return Made(std::nullopt);
  const std::string base_path = means.kept.path(action.job, way.front().base);
  Result<Bytes> kept = os::read_file(base_path, action.bytes);
  if (!kept || content_digest(*kept) != way.front().base) {
    COT_TRY(os::remove_file(base_path));
    return Made(std::nullopt);
  }
  Bytes model = *std::move(kept);
  for (size_t link = 0; link < way.size(); ++link) {
    COT_ASSIGN(std::optional<Outcome<Bytes>> file, fetch_delta(means, device, way[link]));
    if (!file) return Made(std::nullopt);
    if (auto* failure = std::get_if<Failure>(&*file)) return Made(Outcome<Digest>(std::move(*failure)));
    Result<MovedModel> next =
        apply_delta(std::move(model), way[link].base, std::get<Bytes>(*file), action.download.bits);
    if (!next || next->result != end_of(way, link, action)) return Made(std::nullopt);
    model = std::move(next->file);
  }
  if (content_digest(model) != action.model) return Made(std::nullopt);
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
