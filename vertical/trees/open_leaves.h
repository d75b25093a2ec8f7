// Which leaves of trees a row can come to by one party's own splits, as bits: leaf by leaf in the order of nodes,
// tree by tree, in whole bytes a row.
#pragma once

#include <vector>

#include "vertical/trees/predict_trees.h"

namespace coterie::vertical {

// Leaves of the trees from `first_tree` on.
size_t leaves_of(const std::vector<Tree>& trees, size_t first_tree);

// Sets the bit of each leaf that is open to `row`.
void open_leaves(const std::vector<Tree>& trees, size_t first_tree, const RawColumns& columns, size_t row,
                 std::span<uint8_t> bits);

// invalid_argument unless there are `count` columns of `rows` rows each.
Status check_columns(const RawColumns& columns, uint32_t count, uint32_t rows);

}  // namespace coterie::vertical
