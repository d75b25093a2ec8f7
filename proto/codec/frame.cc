#include "proto/codec/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/checked.h"
#include "base/text/concat.h"
#include "proto/codec/limits.h"

static_assert(std::endian::native == std::endian::little, "frames are little-endian and are read in place");

namespace coterie {
namespace {

constexpr char kMagic[4] = {'C', 'O', 'T', 'F'};
constexpr uint64_t kPayloadAlignment = 64;

template <typename T>
T load(ByteView bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename T>
void store(Bytes& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

bool is_known(uint16_t kind) { return to_string(static_cast<FrameKind>(kind)) != "unknown"; }

size_t header_bytes_max(FrameKind kind) {
  switch (kind) {
    case FrameKind::roster_view: return limits::kRosterHeaderBytesMax;
    case FrameKind::sealed_shares:
    case FrameKind::share_inbox:
    case FrameKind::unmask_request: return limits::kSharesHeaderBytesMax;
    default: return static_cast<uint16_t>(kind) < 100 ? limits::kWireHeaderBytesMax : limits::kFileHeaderBytesMax;
  }
}

bool has_payload(FrameKind kind) {
  return kind == FrameKind::update || kind == FrameKind::masked_input || kind == FrameKind::model ||
         kind == FrameKind::checkpoint || kind == FrameKind::partial_sum || kind == FrameKind::optimizer_state ||
         kind == FrameKind::dataset || kind == FrameKind::model_delta;
}

Error malformed(std::string_view what) { return Error(ErrorCode::malformed, concat({"frame: ", what})); }

}  // namespace

std::string_view to_string(FrameKind kind) {
  switch (kind) {
    case FrameKind::enroll_request: return "enroll_request";
    case FrameKind::enroll_reply: return "enroll_reply";
    case FrameKind::checkin_request: return "checkin_request";
    case FrameKind::retry_window: return "retry_window";
    case FrameKind::assignment: return "assignment";
    case FrameKind::plan: return "plan";
    case FrameKind::update: return "update";
    case FrameKind::receipt: return "receipt";
    case FrameKind::error_reply: return "error_reply";
    case FrameKind::key_advert: return "key_advert";
    case FrameKind::roster_slot: return "roster_slot";
    case FrameKind::holder_choice: return "holder_choice";
    case FrameKind::roster_view: return "roster_view";
    case FrameKind::sealed_shares: return "sealed_shares";
    case FrameKind::share_inbox: return "share_inbox";
    case FrameKind::masked_input: return "masked_input";
    case FrameKind::confirm_request: return "confirm_request";
    case FrameKind::confirmation: return "confirmation";
    case FrameKind::unmask_request: return "unmask_request";
    case FrameKind::unmasking: return "unmasking";
    case FrameKind::log_proof: return "log_proof";
    case FrameKind::model: return "model";
    case FrameKind::checkpoint: return "checkpoint";
    case FrameKind::partial_sum: return "partial_sum";
    case FrameKind::optimizer_state: return "optimizer_state";
    case FrameKind::dataset: return "dataset";
    case FrameKind::participant_state: return "participant_state";
    case FrameKind::model_delta: return "model_delta";
  }
  return "unknown";
}

uint64_t Prelude::payload_offset() const { return round_up<uint64_t>(kPreludeBytes + header_bytes, kPayloadAlignment); }

Result<Prelude> parse_prelude(ByteView bytes) {
  if (bytes.size() < kPreludeBytes) {
    return malformed(concat({"has ", bytes.size(), " bytes, a frame begins with 24"}));
  }
  if (std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) return malformed("does not begin with COTF");
  const auto version = load<uint16_t>(bytes, 4);
  if (version != kFrameVersion) {
    return Error(ErrorCode::unsupported_version, concat({"frame: format version ", version, ", this build speaks 1"}));
  }
  const auto kind = load<uint16_t>(bytes, 6);
  if (!is_known(kind)) return malformed(concat({"unknown kind ", kind}));
  if (load<uint32_t>(bytes, 12) != 0) return malformed("reserved bytes are not zero");
  Prelude prelude{static_cast<FrameKind>(kind), load<uint32_t>(bytes, 8), load<uint64_t>(bytes, 16)};
  const size_t header_max = header_bytes_max(prelude.kind);
  if (prelude.header_bytes > header_max) {
    return Error(ErrorCode::too_large,
                 concat({"frame: header of ", prelude.header_bytes, " bytes, at most ", header_max}));
  }
  if (prelude.payload_bytes > limits::kPayloadBytesMax) {
    return Error(ErrorCode::too_large, concat({"frame: payload of ", prelude.payload_bytes, " bytes"}));
  }
  if (prelude.payload_bytes != 0 && !has_payload(prelude.kind)) {
    return malformed(concat({"a message of kind ", to_string(prelude.kind), " has no payload"}));
  }
  return prelude;
}

Result<Frame> parse_frame(ByteView bytes) {
  COT_ASSIGN(const Prelude prelude, parse_prelude(bytes));
  if (bytes.size() != prelude.frame_bytes()) {
    return malformed(concat({"has ", bytes.size(), " bytes, its sizes say ", prelude.frame_bytes()}));
  }
  const ByteView header = bytes.subspan(kPreludeBytes, prelude.header_bytes);
  const size_t padding_at = kPreludeBytes + prelude.header_bytes;
  const ByteView padding = bytes.subspan(padding_at, prelude.payload_offset() - padding_at);
  if (std::any_of(padding.begin(), padding.end(), [](uint8_t b) { return b != 0; })) {
    return malformed("padding is not zero");
  }
  return Frame{prelude.kind, header, bytes.subspan(prelude.payload_offset())};
}

Result<Frame> parse_frame(ByteView bytes, FrameKind expected) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes));
  if (frame.kind != expected) {
    return malformed(concat({"is of kind ", to_string(frame.kind), ", expected ", to_string(expected)}));
  }
  return frame;
}

Bytes build_frame_head(FrameKind kind, ByteView header, uint64_t payload_bytes) {
  COT_ASSERT(header.size() <= header_bytes_max(kind) && payload_bytes <= limits::kPayloadBytesMax);
  const Prelude prelude{kind, static_cast<uint32_t>(header.size()), payload_bytes};
  Bytes bytes(prelude.payload_offset());
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  store<uint16_t>(bytes, 4, kFrameVersion);
  store<uint16_t>(bytes, 6, static_cast<uint16_t>(kind));
  store<uint32_t>(bytes, 8, prelude.header_bytes);
  store<uint64_t>(bytes, 16, payload_bytes);
  std::copy(header.begin(), header.end(), bytes.begin() + kPreludeBytes);
  return bytes;
}

Bytes build_frame(FrameKind kind, ByteView header, ByteView payload) {
  Bytes bytes = build_frame_head(kind, header, payload.size());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

}  // namespace coterie
