// A delta between two model files, as a server makes it, in memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "proto/codec/codec.h"
#include "proto/delta/apply_delta.h"
#include "proto/delta/model_delta.h"
#include "secure/crypto/digest.h"
#include "tests/support/matchers.h"

namespace coterie::test {

struct MadeDelta {
  Bytes file;
  Bytes result;  // the model file that it leads to
};

inline MadeDelta make_delta(const Bytes& base, const Bytes& next, uint32_t bits) {
  const auto from = decode_model(base), to = decode_model(next);
  EXPECT_OK(from);
  EXPECT_OK(to);
  const auto before = payload_as<float>(from->payload), after = payload_as<float>(to->payload);
  Bytes payload;
  for (const DeltaRange& range : delta_ranges(from->header)) {
    const auto own = [&](std::span<const float> all) { return all.subspan(range.values.first, range.values.count); };
    if (range.is_exact) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(own(after).data());
      payload.insert(payload.end(), bytes, bytes + own(after).size_bytes());
      continue;
    }
    for (size_t at = 0; at < range.values.count; at += kDeltaBlockValues) {
      const size_t count = std::min<size_t>(kDeltaBlockValues, range.values.count - at);
      append_block(own(before).subspan(at, count), own(after).subspan(at, count), bits, payload);
    }
  }
  ModelDelta header{.base = content_digest(base), .result = {}, .bits = bits};
  const auto file = [&] {
    Bytes bytes = encode_head(header, payload.size());
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
  };
  auto moved = apply_delta(base, header.base, file(), bits);
  EXPECT_OK(moved);
  if (!moved) return {};
  header.result = content_digest(moved->file);
  return {file(), std::move(moved->file)};
}

}  // namespace coterie::test
