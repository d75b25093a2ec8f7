// Tables that a formula filled: sines and cosines of positions. A model reads them and never trains them, but in a file
// they lie among the weights. Pure.
#pragma once

#include "model_import/graph/graph.h"

namespace coterie::model_import {

// Whether along some axis, of at least 6 positions, every sequence of elements x satisfies
// x[t + 1] + x[t - 1] = 2 c x[t] with a c of its own in [-1, 1], which is what sin(wt + p) and constants do, none
// beyond 1, and one at least swings. So a positional encoding (Vaswani et al. 2017, section 3.5, in any arrangement of
// its columns) and the tables of rotary embeddings (Su et al. 2021, arXiv:2104.09864). Weights do not.
bool is_computed_table(const HostTensor& tensor);

}  // namespace coterie::model_import
