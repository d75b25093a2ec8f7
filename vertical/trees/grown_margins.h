// GrownMargins: the margins of a training's rows, added up from the leaves of its trees in their order, as the training
// itself adds them: the same bits.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/trees/tree_model.h"

namespace coterie::vertical {

class GrownMargins {
 public:
  GrownMargins(const TreeSettings& settings, size_t rows);

  // The next tree, by its levels as write_level() has them (frontier.h). malformed if they are not those of its nodes,
  // or if margins become infinite.
  Status add_finished(const Tree& tree, std::span<const Bytes> levels);
  // The last one, as far as it has grown: of its nodes those are leaves that a level did not split.
  Status add_unfinished(const Tree& tree, std::span<const Bytes> levels);

  const std::vector<float>& margins() const { return margins_; }              // row by row, a class after the other
  const std::vector<float>& round_margins() const { return round_margins_; }  // at the begin of the round

 private:
  Status add(const Tree& tree, std::span<const Bytes> levels, bool is_finished);

  uint32_t rows_, classes_, trees_ = 0;
  std::vector<float> margins_, round_margins_;
};

}  // namespace coterie::vertical
