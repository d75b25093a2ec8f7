// Arena: the one block of memory that training or evaluating a model needs, allocated once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"

namespace coterie {

// Memory that lives from step to step, one flat vector each: the parameters (with state), the optimizer's slots and
// factors (optimizer_rule.h), gradients where they are summed over several steps; what a program computed once
// (prepared.h); and the ranges of activations that are rounded (fake_quantise.h).
enum class Region : uint8_t { parameters, slot0, slot1, factors, gradients, prepared, ranges };
inline constexpr size_t kRegions = static_cast<size_t>(Region::ranges) + 1;

struct ArenaLayout {
  std::array<uint64_t, kRegions> region_bytes{};
  uint64_t planned_bytes = 0;  // activations, gradients and scratch of one step, overlaid

  uint64_t& of(Region region) { return region_bytes[static_cast<size_t>(region)]; }
  uint64_t of(Region region) const { return region_bytes[static_cast<size_t>(region)]; }
  // Everything, each part rounded up to kBufferAlignment; saturates.
  uint64_t bytes() const;
  bool contains(const ArenaLayout& other) const;
  // Makes room for two programs that share an arena: each part is as large as the larger of the two.
  void join(const ArenaLayout& other);
};

class Arena {
 public:
  // Zeroed, and so paged in before the first step. too_large if it would exceed `bytes_max` or memory is short.
  static Result<Arena> create(const ArenaLayout& layout, uint64_t bytes_max);

  std::span<float> region(Region region) const;
  uint8_t* planned() const { return block_.get() + planned_offset_; }
  const ArenaLayout& layout() const { return layout_; }

 private:
  struct Deleter {
    void operator()(uint8_t* block) const;
  };
  ArenaLayout layout_;
  std::array<uint64_t, kRegions> offsets_{};
  uint64_t planned_offset_ = 0;
  std::unique_ptr<uint8_t, Deleter> block_;
};

}  // namespace coterie
