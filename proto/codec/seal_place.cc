// Where a file's seal lies in its header.
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/generated/model_generated.h"
#include "proto/generated/state_generated.h"

namespace coterie {
namespace {

template <typename Table>
Result<std::optional<uint64_t>> place_in(ByteView header) {
  COT_ASSIGN(const auto root, flat::Root<Table>::verify(header));
  const wire::Digest32* seal = root->seal();
  if ((seal != nullptr) != flat::is_marked_sealed(header)) {
    return Error(ErrorCode::data_loss, "the header was damaged, or changed by hand: half of its seal is missing");
  }
  if (seal == nullptr) return std::optional<uint64_t>();
  return std::optional<uint64_t>(seal->bytes()->data() - root.data());
}

}  // namespace

Result<std::optional<uint64_t>> seal_place(FrameKind kind, ByteView header) {
  if (kind == FrameKind::model) return place_in<model::Model>(header);
  if (kind == FrameKind::dataset) return place_in<state::Dataset>(header);
  return std::optional<uint64_t>();
}

Result<std::optional<uint64_t>> seal_place(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes));
  COT_ASSIGN(std::optional<uint64_t> place, seal_place(frame.kind, frame.header));
  if (place) *place += kPreludeBytes;
  return place;
}

}  // namespace coterie
