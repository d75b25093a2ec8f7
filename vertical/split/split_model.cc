#include "vertical/split/split_model.h"

#include <algorithm>
#include <array>

namespace coterie::vertical {
namespace {

constexpr std::array<uint8_t, 4> kModelMagic{'C', 'V', 'S', '1'};

}  // namespace

Bytes write_split_model(const SplitModel& model) {
  WireWriter writer;
  writer.raw(kModelMagic);
  write_split_settings(model.settings, writer);
  write_split_columns(model.columns, writer);
  writer.u32(static_cast<uint32_t>(model.network.size()));
  writer.raw(model.network);
  return writer.take();
}

Result<SplitModel> read_split_model(ByteView bytes) {
  const Error wrong(ErrorCode::malformed, "split: these bytes are no part of a network");
  WireReader reader(bytes);
  if (!std::ranges::equal(reader.raw(kModelMagic.size()), kModelMagic)) return wrong;
  SplitModel model;
  COT_ASSIGN(model.settings, read_split_settings(reader));
  COT_ASSIGN(model.columns, read_split_columns(reader));
  const uint32_t length = reader.u32();
  const ByteView network = reader.raw(length);
  if (!reader.ended()) return wrong;
  model.network.assign(network.begin(), network.end());
  return model;
}

}  // namespace coterie::vertical
