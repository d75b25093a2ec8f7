// Identifiers as distinct types: mixing a round with an attempt must not compile.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace coterie {

template <typename Tag, typename Rep>
class StrongId {
 public:
  StrongId() = default;
  explicit StrongId(Rep value) : value_(std::move(value)) {}
  const Rep& value() const { return value_; }
  friend auto operator<=>(const StrongId&, const StrongId&) = default;

 private:
  Rep value_{};
};

using JobId = StrongId<struct JobTag, std::string>;               // "j7k2q": short, lower case, unique on a server
using RoundId = StrongId<struct RoundTag, uint64_t>;              // unique on a server over all jobs
using Attempt = StrongId<struct AttemptTag, uint32_t>;            // 1, 2, ... of one round; fresh keys each
using ModelVersion = StrongId<struct ModelVersionTag, uint64_t>;  // 0 is the job's initial model, then one a round
using Population = StrongId<struct PopulationTag, std::string>;   // the group of devices a job draws from

// A device is named by its key: the first 16 bytes of the content digest of its public key.
struct DeviceId {
  std::array<uint8_t, 16> bytes{};

  std::string hex() const { return to_hex(bytes); }
  // For logs: the first four bytes only, enough to follow one device through a log, too few to name it elsewhere.
  std::string short_hash() const { return to_hex(ByteView(bytes).first(4)); }
  static Result<DeviceId> from_hex(std::string_view text) {
    COT_ASSIGN(const Bytes decoded, coterie::from_hex(text));
    DeviceId id;
    if (decoded.size() != id.bytes.size()) {
      return Error(ErrorCode::malformed, "a device id is 32 hexadecimal digits, got " + std::to_string(text.size()));
    }
    std::copy(decoded.begin(), decoded.end(), id.bytes.begin());
    return id;
  }
  friend auto operator<=>(const DeviceId&, const DeviceId&) = default;
};

// One attempt at one round: the unit that tickets, accept rows and partial sums belong to.
struct RoundKey {
  RoundId round;
  Attempt attempt;
  friend auto operator<=>(const RoundKey&, const RoundKey&) = default;
};

}  // namespace coterie

template <typename Tag, typename Rep>
struct std::hash<coterie::StrongId<Tag, Rep>> {
  size_t operator()(const coterie::StrongId<Tag, Rep>& id) const { return std::hash<Rep>{}(id.value()); }
};

// Device ids are digests, uniformly distributed: their first bytes are a hash already.
template <>
struct std::hash<coterie::DeviceId> {
  size_t operator()(const coterie::DeviceId& id) const {
    size_t value = 0;
    for (size_t i = 0; i < sizeof value; ++i) value = value << 8 | id.bytes[i];
    return value;
  }
};
