#include "device_sdk/runtime/seal.h"

#include <algorithm>

#include "base/assert.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

Digest digest_without(ByteView file, uint64_t place) {
  constexpr Digest kZeros;
  ContentDigester digester;
  digester.update(file.first(place));
  digester.update(kZeros.view());
  digester.update(file.subspan(place + kZeros.bytes.size()));
  return digester.finish();
}

}  // namespace

Result<Seal> check_seal(ByteView file) {
  COT_ASSIGN(const std::optional<uint64_t> place, seal_place(file));
  if (!place) return Seal::none;
  Digest written;
  std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(*place), written.bytes.size(), written.bytes.begin());
  if (written == Digest()) return Seal::none;
  if (written != digest_without(file, *place)) {
    return Error(ErrorCode::data_loss, "the file fails its checksum: it was damaged, or changed by hand");
  }
  return Seal::good;
}

void seal(Bytes& file) {
  const Result<std::optional<uint64_t>> place = seal_place(file);
  COT_ASSERT(place.has_value() && place->has_value());
  const Digest digest = digest_without(file, **place);
  std::copy(digest.bytes.begin(), digest.bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(**place));
}

Bytes sealed_model_file(const ModelGraph& graph, std::span<const float> values) {
  Bytes file = encode_head(graph, values.size_bytes());
  const auto* const bytes = reinterpret_cast<const uint8_t*>(values.data());
  file.insert(file.end(), bytes, bytes + values.size_bytes());
  seal(file);
  return file;
}

}  // namespace coterie
