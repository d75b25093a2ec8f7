// How a matrix is cut into blocks of rows and columns, each of which has factors of its own (Shampoo): a square of its
// rows and one of its columns.
//
// No side of a block is above 128, nor above four times the other one (of matrices that have at least two rows and two
// columns), so that both factors together have at most 4.25 values for each of the block's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace coterie {

inline constexpr size_t kBlockSideMax = 128;
inline constexpr size_t kBlockAspectMax = 4;

// `size` things in `parts` runs, the first ones longer by one where they do not come out even.
struct EvenCut {
  size_t size, parts;

  static EvenCut of(size_t size, size_t length_max) { return {size, (size + length_max - 1) / length_max}; }
  size_t least() const { return size / parts; }
  size_t longer(size_t parts_before) const { return std::min(parts_before, size % parts); }
  size_t begin(size_t part) const { return part * least() + longer(part); }
  size_t length(size_t part) const { return least() + (part < size % parts ? 1 : 0); }
  // The squares of the lengths of the parts before this one, together.
  uint64_t squares(size_t part) const {
    const uint64_t shorter = least(), long_ones = longer(part);
    return long_ones * (shorter + 1) * (shorter + 1) + (part - long_ones) * shorter * shorter;
  }
};

struct MatrixBlock {
  size_t row, column;     // of the matrix
  size_t rows, columns;   // of the block
  uint64_t first_factor;  // values of the factors of the blocks before this one

  uint64_t factor_values() const { return uint64_t{rows} * rows + uint64_t{columns} * columns; }
};

class MatrixBlocks {
 public:
  // Precondition: rows > 0, columns > 0.
  MatrixBlocks(size_t rows, size_t columns) : rows_(EvenCut::of(rows, kBlockSideMax)), columns_(rows_) {
    const EvenCut shorter = EvenCut::of(std::min(rows, columns), kBlockSideMax);
    const EvenCut longer =
        EvenCut::of(std::max(rows, columns), std::min(kBlockSideMax, kBlockAspectMax * shorter.least()));
    rows_ = rows <= columns ? shorter : longer;
    columns_ = rows <= columns ? longer : shorter;
  }

  size_t count() const { return rows_.parts * columns_.parts; }
  // In the order of their rows, then of their columns.
  MatrixBlock operator[](size_t i) const {
    const size_t r = i / columns_.parts, c = i % columns_.parts;
    const uint64_t height = rows_.length(r);
    return {rows_.begin(r), columns_.begin(c), rows_.length(r), columns_.length(c),
            columns_.parts * rows_.squares(r) + r * columns_.squares(columns_.parts) + c * height * height +
                columns_.squares(c)};
  }
  uint64_t factor_values() const {
    return columns_.parts * rows_.squares(rows_.parts) + rows_.parts * columns_.squares(columns_.parts);
  }

 private:
  EvenCut rows_, columns_;
};

}  // namespace coterie
