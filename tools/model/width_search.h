// `coterie model quantise --bits auto`: how many bits each weight gets (ADR 189).
//
// First each weight is rounded alone, to each width, by the rule and with the corrected bias that lose least: what the
// calibration loss grows by is the price of the width. Then the cheapest widths that fit are chosen together, and
// looked at together: each weight in turn gets a width more, paid for by the others, which is kept where the loss of
// the whole falls.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "tools/model/rounded_model.h"

namespace coterie {

struct WidthSearch {
  std::function<Result<double>(const std::vector<float>&)> loss;  // of flat parameters, on the calibration examples
  double loss_exact = 0;                                          // of the parameters that are not rounded
  std::vector<TensorGrid> grids = {};                             // of the file, if it computes in int8
  uint64_t file_bytes_max = 0;                                    // of the whole file that comes of it
  uint32_t bits_max = 16;
  std::function<void(size_t tried, size_t in_all)> progress = {};
};

// What a file may have that is `ratio` times smaller than one of `file_bytes`.
uint64_t smaller_bytes(uint64_t file_bytes, double ratio);
// About the width that all weights have together there, in [1, bits_max].
uint32_t even_width(double ratio, uint32_t bits_max);

struct WidthPrice {
  uint32_t bits = 0;
  double loss = 0;  // what the calibration loss grows by where this weight alone has so many bits
};

struct WidthsFound {
  double loss = 0;                              // of the whole
  std::vector<std::vector<WidthPrice>> prices;  // of each weight, the widest first
};

// Brings each weight to the form that was found. Biases are corrected where their means are known. Errors:
// invalid_argument where even 1 bit a weight is too much; those of `loss` and RoundedModel::file.
Result<WidthsFound> search_widths(const WidthSearch& search, RoundedModel& model);

}  // namespace coterie
