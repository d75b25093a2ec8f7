#include "tools/vertical/model_part.h"

#include <algorithm>

#include "secure/crypto/sha256.h"
#include "vertical/stage/wire.h"

namespace coterie {
namespace {

constexpr std::array<uint8_t, 4> kPartMagic{'C', 'V', 'P', '1'};
constexpr size_t kPartDigestBytes = 32;

}  // namespace

Bytes write_model_part(const ModelPart& part) {
  vertical::WireWriter writer;
  writer.raw(kPartMagic);
  writer.u8(static_cast<uint8_t>(part.model));
  writer.u8(part.is_label_party ? 1 : 0);
  writer.u8(0);
  writer.u8(0);
  writer.raw(part.training.view());
  writer.u32(static_cast<uint32_t>(part.columns.size()));
  for (const std::string& name : part.columns) {
    writer.u32(static_cast<uint32_t>(name.size()));
    writer.raw(as_bytes(name));
  }
  writer.u32(static_cast<uint32_t>(part.machine.size()));
  writer.raw(part.machine);
  Bytes bytes = writer.take();
  const Digest digest = sha256(bytes);
  bytes.insert(bytes.end(), digest.bytes.begin(), digest.bytes.end());
  return bytes;
}

Result<ModelPart> read_model_part(ByteView bytes) {
  const Error wrong(ErrorCode::malformed, "this is no part of a model of vertical training");
  if (bytes.size() < kPartMagic.size() + kPartDigestBytes ||
      !std::ranges::equal(bytes.first(kPartMagic.size()), kPartMagic)) {
    return wrong;
  }
  const ByteView whole = bytes.first(bytes.size() - kPartDigestBytes);
  if (!std::ranges::equal(bytes.last(kPartDigestBytes), sha256(whole).view())) {
    return Error(ErrorCode::data_loss, "this part of a model is not as it was written");
  }
  vertical::WireReader reader(whole.subspan(kPartMagic.size()));
  const uint8_t model = reader.u8(), label_party = reader.u8();
  const uint8_t zeros = static_cast<uint8_t>(reader.u8() | reader.u8());
  ModelPart part{.model = static_cast<VerticalModel>(model), .is_label_party = label_party == 1};
  const ByteView training = reader.raw(kPartDigestBytes);
  const uint32_t count = reader.u32();
  // Each name has a length of 4 bytes.
  if (!reader.ok() || model >= kVerticalModels || label_party > 1 || zeros != 0 || count > reader.rest().size() / 4)
    return wrong;
  std::ranges::copy(training, part.training.bytes.begin());
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t length = reader.u32();
    part.columns.emplace_back(as_text(reader.raw(length)));
  }
  const uint32_t length = reader.u32();
  const ByteView machine = reader.raw(length);
  if (!reader.ended()) return wrong;
  part.machine.assign(machine.begin(), machine.end());
  return part;
}

}  // namespace coterie
