// The blocks of A, panels of B and pieces of k that a product of bfloat16 takes in turn, in the namespace and with the
// instructions of whoever includes it, which has before defined
//
//   kBlockRows                     rows of a block
//   Block                          a block of A, rounded
//   fill_by_rows, fill_by_steps    (a, first row, rows, begin, end, block): these k of a block. By rows where each of
//                                  them is a line (a.step is 1)
//   Panel                          a panel of B, rounded, and where its product goes: {floats, floats between groups of
//                                  two of k, column of C, columns}
//   fill_panel                     (b, row_stride, begin, end, columns, to, to_stride): these k of a panel of float32
//   block_product                  (block, whether it is by rows, rows, groups, panel, c, row of C, finish)
//   row_product                    (block of one row, whether it is by rows, groups, the first of them in B's panels,
//                                  B, n, c, row of C, finish): several panels at once; returns of how many columns

void multiply(size_t m, size_t n, const MatrixA& a, const MatrixB& b, const MatrixC& c, const Finish& finish) {
  const size_t k = a.run_count * a.run_length, piece = groups_of(piece_length(k)) * kGroup;
  const bool is_packed = b.row_stride == 0, by_rows = a.step == 1;
  Block block;
  HWY_ALIGN float rounded[kDepth / 2 * kTileVectors * kLanes];
  for (size_t begin = 0; begin < k; begin += piece) {
    const size_t end = HWY_MIN(k, begin + piece), count = groups_of(end - begin);
    const bool is_last = end == k;
    const Finish now{.accumulate = finish.accumulate || begin > 0,
                     .activation = is_last ? finish.activation : Activation::none,
                     .bias = is_last ? finish.bias : nullptr,
                     .scale = finish.scale};
    const auto fill = [&](size_t first) {
      const size_t rows = HWY_MIN(kBlockRows, m - first);
      if (by_rows) fill_by_rows(a, first, rows, begin, end, block);
      else fill_by_steps(a, first, rows, begin, end, block);
      return rows;
    };
    if (is_packed) {
      for (size_t i = 0; i < m; i += kBlockRows) {
        const size_t rows = fill(i);
        const float* piece_of_b = b.base + begin / 2 * b.panel;
        size_t column = rows == 1 ? row_product(block, by_rows, count, piece_of_b, b, n, c, i, now) : 0;
        for (; column < n; column += b.panel) {
          const Panel panel{piece_of_b + column / b.panel * b.panel_stride, b.panel, column,
                            HWY_MIN(b.panel, n - column)};
          block_product(block, by_rows, rows, count, panel, c, i, now);
        }
      }
      continue;
    }
    for (size_t column = 0; column < n; column += b.panel) {
      const size_t columns = HWY_MIN(b.panel, n - column), stride = (columns + kLanes - 1) / kLanes * kLanes;
      fill_panel(b.base + column / b.panel * b.panel_stride, b.row_stride, begin, end, columns, rounded, stride);
      for (size_t i = 0; i < m; i += kBlockRows) {
        const size_t rows = fill(i);
        block_product(block, by_rows, rows, count, {rounded, stride, column, columns}, c, i, now);
      }
    }
  }
}
