// MaxUnpool: the elements that MaxPool kept, back where its indices say.
#include "model_import/interpret/frame.h"

namespace coterie::model_import {
namespace {

Result<Outputs> compute_max_unpool(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &x = call.operand(0), &indices = call.operand(1);
  if (indices.shape != x.shape) return bad_form("indices of another shape than the operand's");
  COT_ASSIGN(const Frames frames, frames_of(call, {}));
  // The indices count in the pooled operand, by default; a larger output has it in its corner.
  Shape pooled{x.shape[0], x.shape[1]};
  for (size_t i = 5 - x.rank(); i < 3; ++i) {
    const Frame& frame = frames[i];
    pooled.push_back((frame.size - 1) * frame.stride + frame.extent() - frame.pad_before - frame.pad_after);
  }
  Shape shape = pooled;
  if (call.has(2)) {
    COT_ASSIGN(shape, integers_of(call.operand(2)));
  }
  if (shape.size() != pooled.size()) return bad_form("output_shape of another rank");
  COT_ASSIGN(Array y, zeros_like(x, shape));
  COT_ASSIGN(const Array inner, zeros_like(x, pooled));
  for (size_t i = 0; i < x.values.size(); ++i) {
    int64_t place = whole(indices.values[i]);
    if (place < 0 || place >= inner.size()) return bad_form("an index beyond the output");
    Index at(pooled.size());
    for (size_t k = pooled.size(); k-- > 0; place /= pooled[k]) {
      at[k] = place % pooled[k];
      if (at[k] >= shape[k]) return bad_form("an index beyond the output");
    }
    y.values[offset_of(shape, at)] = x.values[i];
  }
  return one(std::move(y));
}

}  // namespace

Operator unpool_operator(const std::string& op) { return op == "MaxUnpool" ? compute_max_unpool : nullptr; }

}  // namespace coterie::model_import
