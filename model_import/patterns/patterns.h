// Layers that exporters write as many small nodes, put together again.
#pragma once

#include "model_import/graph/graph.h"

namespace coterie::model_import {

// Rewrites the nodes of a sorted graph: the last node of a pattern becomes the layer; the others stay for
// whoever else reads them.
//   GELU by erf and by tanh; x sigmoid(x); hard-swish and hard-sigmoid by clip(x + 3, 0, 6) / 6
//   layer norm and RMS norm by ReduceMean, Pow, Sqrt; group norm by Reshape and InstanceNormalization
//   MatMul and the Add of its bias
void fuse_patterns(Graph& graph);

}  // namespace coterie::model_import
