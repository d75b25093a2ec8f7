// What every codec file shares: verified roots, ranged fields, finished buffers. Private to proto/codec.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "proto/codec/frame.h"
#include "proto/codec/limits.h"
#include "proto/generated/wire_generated.h"
#include "proto/messages/analytics.h"
#include "proto/messages/checkin.h"
#include "proto/messages/ledger_head.h"
#include "proto/messages/personal_settings.h"
#include "proto/messages/population_log.h"
#include "proto/messages/watch_settings.h"

namespace coterie {
struct TrainingHead;  // proto/messages/training_head.h
}

namespace coterie::flat {

// A FlatBuffers root that passed the verifier. Keeps an aligned copy when the input was not aligned to 8 bytes.
template <typename Table>
class Root {
 public:
  static Result<Root> verify(ByteView header) {
    Root root;
    if (reinterpret_cast<uintptr_t>(header.data()) % 8 != 0) {
      root.copy_.assign(header.begin(), header.end());
      header = root.copy_;
    }
    flatbuffers::Verifier verifier(header.data(), header.size(), limits::kVerifierDepthMax, limits::kVerifierTablesMax);
    if (header.size() < 8 || !verifier.VerifyBuffer<Table>(nullptr)) {
      return Error(ErrorCode::malformed, "header is not a valid FlatBuffer of its kind");
    }
    root.header_ = header.data();
    return root;
  }
  Root(Root&&) noexcept = default;
  Root& operator=(Root&&) noexcept = default;

  const uint8_t* data() const { return header_; }
  const Table* operator->() const { return flatbuffers::GetRoot<Table>(header_); }
  const Table& operator*() const { return *flatbuffers::GetRoot<Table>(header_); }

 private:
  Root() = default;
  std::vector<uint8_t> copy_;
  const uint8_t* header_ = nullptr;
};

// The identifier of headers that have a field `seal`. One changed byte takes away the one or the other, so a file
// cannot lose its seal unseen.
inline constexpr char kSealed[] = "SEAL";
inline bool is_marked_sealed(ByteView header) {
  return header.size() >= 8 && std::memcmp(header.data() + sizeof(uint32_t), kSealed, 4) == 0;
}

// Element i of a vector of scalars. FlatBuffers' verifier (2.0) checks that a vector's length is aligned, not that its
// 8-byte elements are: Vector::Get would be an unaligned load.
template <typename T>
T element(const flatbuffers::Vector<T>& vector, uint32_t i) {
  T value;
  std::memcpy(&value, vector.Data() + i * sizeof(T), sizeof value);
  return value;
}

Error out_of_range(std::string_view field, std::string_view rule);

Result<std::string> text(const flatbuffers::String* field, std::string_view name, size_t bytes_max,
                         size_t bytes_min = 0);
Result<Bytes> bytes(const flatbuffers::Vector<uint8_t>* field, std::string_view name, size_t bytes_max,
                    size_t bytes_min = 1);
// In [0, kUnixMsMax], so that whoever subtracts a clock from it cannot overflow.
Result<WallTime> wall_time(int64_t unix_ms, std::string_view name);
Result<KeyAlgorithm> key_algorithm(uint8_t value);
Digest digest(const wire::Digest32& field);
wire::Digest32 digest(const Digest& value);
DeviceId device(const wire::DeviceKeyHash& field);
wire::DeviceKeyHash device(const DeviceId& value);

// That the payload has the bytes that a header promises; `expected` is nullopt if they overflow.
Status payload_is(const Prelude& prelude, std::optional<uint64_t> expected);
Prelude prelude_of(const Frame& frame);

// Takes a finished builder apart into a frame.
Bytes finish(flatbuffers::FlatBufferBuilder& builder, FrameKind kind);
Bytes finish_head(flatbuffers::FlatBufferBuilder& builder, FrameKind kind, uint64_t payload_bytes);

flatbuffers::Offset<flatbuffers::Vector<uint8_t>> vector(flatbuffers::FlatBufferBuilder& builder, ByteView bytes);

using RetiringKeys = flatbuffers::Vector<flatbuffers::Offset<wire::RetiringKey>>;

// wire.Assignment is also part of the participant's saved state (checkin_codec.cc).
flatbuffers::Offset<wire::Assignment> build(flatbuffers::FlatBufferBuilder& builder, const Assignment& message);
Result<Assignment> parse(const wire::Assignment& table);
// So are the keys that a server signed with before (checkin_codec.cc); null: none.
flatbuffers::Offset<RetiringKeys> build(flatbuffers::FlatBufferBuilder& builder,
                                        const std::vector<RetiringKey>& message);
Result<std::vector<RetiringKey>> parse(const RetiringKeys* field);
// So are the heads of ledgers (plan_codec.cc), which without records are not written, and what it has to tell
// of a plan.
flatbuffers::Offset<wire::Ledger> build(flatbuffers::FlatBufferBuilder& builder, const LedgerHead& message);
LedgerHead parse(const wire::Ledger* table);
// And those of populations' logs (log_codec.cc).
flatbuffers::Offset<wire::Log> build(flatbuffers::FlatBufferBuilder& builder, const SignedLogHead& message);
Result<SignedLogHead> parse(const wire::Log& table);
flatbuffers::Offset<wire::Refusal> build(flatbuffers::FlatBufferBuilder& builder, const Refusal& message);
Result<Refusal> parse(const wire::Refusal& table);
// And what a device keeps to itself (personal_codec.cc); `loss`: the training's, in a plan. Kind and numbers are for
// validate(Plan), and for who reads a state, to judge.
flatbuffers::Offset<wire::Personal> build(flatbuffers::FlatBufferBuilder& builder, const PersonalSettings& message,
                                          uint8_t loss);
Result<PersonalSettings> parse(const wire::Personal& table);
// And what it counts instead of training (analytics_codec.cc), for validate(Plan) to judge.
flatbuffers::Offset<wire::Analytics> build(flatbuffers::FlatBufferBuilder& builder, const AnalyticsRules& message);
Result<AnalyticsRules> parse(const wire::Analytics& table);
// Plans alone have it (watch_codec.cc); `bound` is that of its lanes. Errors: a check that this version does not know.
flatbuffers::Offset<wire::Watch> build(flatbuffers::FlatBufferBuilder& builder, const WatchSettings& message,
                                       float bound, uint8_t loss);
Result<WatchSettings> parse(const wire::Watch& table);
// None for no heads.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<wire::Head>>> build(flatbuffers::FlatBufferBuilder& builder,
                                                                                const std::vector<TrainingHead>& heads);
Result<std::vector<TrainingHead>> parse(const flatbuffers::Vector<flatbuffers::Offset<wire::Head>>& heads);

}  // namespace coterie::flat
