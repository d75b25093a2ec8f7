// Scratch of attention: everything here takes what simd/attention.cc takes, on the target that needs most of
// it.
#include "train_kernels/tables/attention.h"
#include "train_kernels/workspace.h"

namespace coterie::kernels {
namespace {

// No panel is wider, so that no target pads n columns to more.
size_t packed_floats_max(size_t k, size_t n) { return k * (n + kPanelMax); }

}  // namespace

size_t attention_forward_workspace(const AttentionShape& s) {
  Scratch scratch(nullptr);
  scratch.take<float>(packed_floats_max(s.width, s.keys));
  scratch.take<float>(packed_floats_max(s.keys, s.width));
  scratch.take<float>(kQueriesAtATime * score_stride(s.keys));
  return scratch.used();
}

size_t attention_backward_workspace(const AttentionShape& s) {
  Scratch scratch(nullptr);
  for (size_t matrix = 0; matrix < 2; ++matrix) scratch.take<float>(packed_floats_max(s.width, s.keys));
  scratch.take<float>(packed_floats_max(s.keys, s.width));
  for (size_t matrix = 0; matrix < 2; ++matrix) scratch.take<float>(kQueriesAtATime * score_stride(s.keys));
  return scratch.used();
}

}  // namespace coterie::kernels
