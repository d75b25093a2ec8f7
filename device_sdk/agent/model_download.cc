#include "device_sdk/agent/model_download.h"

#include <algorithm>
#include <cmath>

#include "base/os/file.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

constexpr uint64_t kModelBytesMax = 1ull << 34;

Result<Digest> digest_of_file(const std::string& path) {
  COT_ASSIGN(const os::File file, os::File::open_read(path));
  COT_ASSIGN(const uint64_t size, file.size());
  ContentDigester digester;
  Bytes piece(256 * 1024);
  for (uint64_t at = 0; at < size; at += piece.size()) {
    const std::span<uint8_t> into = std::span(piece).first(std::min<uint64_t>(piece.size(), size - at));
    COT_TRY(file.read_exact_at(at, into));
    digester.update(into);
  }
  return digester.finish();
}

// The head of such a file has one size, whatever it says.
uint64_t state_vector_file_bytes(uint64_t values) {
  const OptimizerStateHeader header{.strategy = 1, .step = 1, .value_count = values, .vectors = 1};
  return encode_head(header).size() + values * sizeof(float);
}

}  // namespace

Result<Outcome<Digest>> download_model(DeviceApi& api, const DeviceId& device, const Digest& model, uint64_t bytes,
                                       const std::string& path) {
  if (os::exists(path)) {
    COT_ASSIGN(const Digest present, digest_of_file(path));
    if (present == model) return Outcome<Digest>(model);
  }
  const std::string part_path = path + ".part";
  // A part of an earlier attempt is gone on from. It is named by the model's digest, so that it can only be a part of
  // that model or damaged, and the digest below tells.
  COT_ASSIGN(os::File part, os::File::open_append(part_path));
  COT_ASSIGN(uint64_t have, part.size());
  if (have > bytes) {  // of something else: the name is the model's, but nothing was verified yet
    COT_TRY(part.truncate());
    have = 0;
  }
  if (have < bytes) {
    Status disk;  // kept apart: a full disk is this device's failure, and asking the server again does not help
    uint64_t stored = have;
    const auto store = [&](const TransportResponse& head, ByteView piece) -> Status {
      if (head.status == 200 && have > 0 && disk) {  // no ranges: the model comes from its beginning
        disk = part.truncate();
        have = stored = 0;
      }
      if (piece.size() > bytes - stored) return Error(ErrorCode::refused, "the model is larger than was signed");
      if (disk) disk = part.write_all(piece);
      if (disk) stored += piece.size();
      return disk;
    };
    const uint64_t offset = have;
    Outcome<uint64_t> came = api.fetch_model(device, model, offset, store);
    if (!disk) return disk.error();
    if (auto* failure = std::get_if<Failure>(&came)) return Outcome<Digest>(std::move(*failure));
    if (stored < bytes) {
      return Outcome<Digest>(
          Failure{Error(ErrorCode::unavailable, "the model ended too early; the rest is asked for again"), {}});
    }
  }
  // No sync: whoever loads the file checks its digest, and one that a power loss damaged costs no more than this round.
  COT_TRY(part.close());
  COT_ASSIGN(const Digest digest, digest_of_file(part_path));
  if (digest == model) COT_TRY(os::rename_file(part_path, path));
  // Otherwise every later attempt would go on from the damaged part and fail in the same way.
  else COT_TRY(os::remove_file(part_path));
  return Outcome<Digest>(digest);
}

Result<Model> load_downloaded(const std::string& path, const Digest& model) {
  COT_ASSIGN(Bytes file, os::read_file(path, kModelBytesMax));
  if (content_digest(file) == model) return Model::load(std::move(file));
  return Error(ErrorCode::data_loss, "model: the file on this device has been damaged");
}

Result<Outcome<Digest>> download_control(DeviceApi& api, const DeviceId& device, const Digest& control, uint64_t values,
                                         const std::string& path) {
  return download_model(api, device, control, state_vector_file_bytes(values), path);
}

Result<std::vector<float>> read_control(const std::string& path, const Digest& control, uint64_t values) {
  COT_ASSIGN(const Bytes file, os::read_file(path, state_vector_file_bytes(values)));
  if (content_digest(file) != control) {
    return Error(ErrorCode::data_loss, "control: the file on this device has been damaged");
  }
  COT_ASSIGN(const auto state, decode_optimizer_state(file));
  if (state.header.vectors != 1 || state.header.value_count != values) {
    return Error(ErrorCode::data_loss, "control: is not one vector of as many values as the plan asks for");
  }
  const auto numbers = payload_as<float>(state.payload);
  if (!std::ranges::all_of(numbers, [](float value) { return std::isfinite(value); })) {
    return Error(ErrorCode::data_loss, "control: has values that are not finite");
  }
  return std::vector<float>(numbers.begin(), numbers.end());
}

}  // namespace coterie
