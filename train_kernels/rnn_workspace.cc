// Scratch of the recurrent layers: everything here takes what simd/rnn.cc takes, on the target that needs
// most of it.
#include <algorithm>

#include "train_kernels/tables/rnn.h"
#include "train_kernels/workspace.h"

namespace coterie::kernels {
namespace {

// No panel is wider, so that no target pads n columns to more.
size_t packed_floats_max(size_t k, size_t n) { return k * (n + kPanelMax); }

void take_recurrent_weights(const RnnShape& s, Scratch& scratch) {
  scratch.take<float>(packed_floats_max(s.hidden, s.columns()));
  // Backward packs the transpose, and a GRU its candidate apart.
  scratch.take<float>(packed_floats_max(s.columns(), kPanelMax));
  scratch.take<float>(packed_floats_max(s.hidden, kPanelMax));
}

}  // namespace

size_t rnn_forward_workspace(const RnnShape& s) {
  Scratch scratch(nullptr);
  scratch.take<float>(s.columns());
  take_recurrent_weights(s, scratch);
  scratch.take<float>(packed_floats_max(s.inputs, s.columns()));
  return scratch.used();
}

size_t rnn_backward_workspace(const RnnShape& s) {
  Scratch scratch(nullptr);
  for (size_t buffer = 0; buffer < 3; ++buffer) scratch.take<float>(s.batch * s.hidden);
  take_recurrent_weights(s, scratch);
  scratch.take<float>(packed_floats_max(s.columns(), s.inputs));
  return scratch.used();
}

size_t rnn_backward_weights_workspace(const RnnShape& s) {
  const size_t rows = std::min(s.steps * s.batch, kTurnedRows);
  Scratch scratch(nullptr);
  scratch.take<float>(packed_a_floats(std::max(s.inputs, s.hidden), rows));
  scratch.take<float>(packed_floats_max(rows, s.columns()));
  return scratch.used();
}

}  // namespace coterie::kernels
