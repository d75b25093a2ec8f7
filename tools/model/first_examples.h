// The first so many examples of another source.
#pragma once

#include <algorithm>
#include <optional>

#include "device_sdk/runtime/example_source.h"

namespace coterie {

class FirstExamples final : public ExampleSource {
 public:
  FirstExamples(ExampleSource& source, uint64_t count) : source_(source), count_(std::min(count, source.size())) {}
  uint64_t size() const override { return count_; }
  std::optional<Digest> digest() const override { return std::nullopt; }
  Status read(uint64_t index, const Example& to) override { return source_.read(index, to); }

 private:
  ExampleSource& source_;
  uint64_t count_;
};

}  // namespace coterie
