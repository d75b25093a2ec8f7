#include "device_sdk/runtime/ops/strided.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text/concat.h"

namespace coterie::ops {

Result<Shape> broadcast_shape(std::initializer_list<Shape> operands) {
  Shape result;
  for (const Shape& shape : operands) {
    if (shape.size() > kernels::kRankMax) return does_not_fit("an operand has more than 8 dimensions");
    if (shape.size() > result.size()) result.insert(result.begin(), shape.size() - result.size(), 1);
    for (size_t i = 1; i <= shape.size(); ++i) {
      int64_t& size = result[result.size() - i];
      const int64_t other = shape[shape.size() - i];
      if (other == 1 || other == size) continue;
      if (size != 1)
        return does_not_fit(concat({"operand ", to_text(shape), " does not broadcast with ", to_text(result)}));
      size = other;
    }
  }
  return result;
}

Copy Copy::reversed() const {
  Copy back{loops, y_offset, x_offset};
  std::swap(back.loops.stride[0], back.loops.stride[1]);
  return back;
}

namespace {

void copy(const Copy& c, const float* x, float* y) {
  const size_t inner = c.loops.rank - 1, count = c.loops.size[inner];
  const ptrdiff_t x_step = c.loops.stride[0][inner], y_step = c.loops.stride[1][inner];
  kernels::StridedWalk<2> walk(c.loops, inner);
  do {
    const float* from = x + c.x_offset + walk.offset(0);
    float* to = y + c.y_offset + walk.offset(1);
    if (x_step == 1 && y_step == 1) {
      std::memcpy(to, from, count * sizeof(float));
      continue;
    }
    for (size_t i = 0; i < count; ++i, from += x_step, to += y_step) *to = *from;
  } while (walk.next());
}

void run_copy(const Step& step, const StepContext&) {
  const auto& [x, y] = step.take<2>();
  copy(step.as<Copy>(), x, y);
}

void describe_bordered(const Bordered& s, SettingsText& text) { text.add("border", static_cast<double>(s.value)); }

void run_bordered(const Step& step, const StepContext&) {
  const auto& s = step.as<Bordered>();
  const auto& [x, y] = step.take<2>();
  std::fill_n(y, s.count, s.value);
  copy(s.copy, x, y);
}

void run_join(const Step& step, const StepContext&) {
  const auto& s = step.as<Parts>();
  const size_t parts = s.copies.size();
  float* whole = step.buffers[parts];
  const bool has_gaps = std::find(step.buffers, step.buffers + parts, nullptr) != step.buffers + parts;
  if (has_gaps) std::fill_n(whole, s.count, 0.0f);
  for (size_t i = 0; i < parts; ++i) {
    if (step.buffers[i] != nullptr) copy(s.copies[i], step.buffers[i], whole);
  }
}

}  // namespace

constinit const StepKindOf<Copy> kCopyStep{"copy", run_copy};
constinit const StepKindOf<Bordered> kBorderedStep{"copy.bordered", run_bordered, describe_bordered};
constinit const StepKindOf<Parts> kJoinStep{"copy.joined", run_join};

}  // namespace coterie::ops
