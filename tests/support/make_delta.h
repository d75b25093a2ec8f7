// A delta between two model files, as a server makes it, in memory.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

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
  std::vector<float> values(before.begin(), before.end());
  Bytes payload;
  for (const DeltaRange& range : delta_ranges(from->header)) {
    const auto [first, count] = range.values;
    EXPECT_OK(append_moved(range, after.subspan(first, count), bits, std::span(values).subspan(first, count), payload));
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
