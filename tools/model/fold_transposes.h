// A model without the transposes that a dense layer can take over: importers put one in front of the flattened image
// that a linear layer reads, and neither int8 networks nor exported C have the op.
#pragma once

#include "device_sdk/runtime/model.h"

namespace coterie {

// A transpose that leaves the batch first, then ops that move no element (flatten, reshape, identity, dropout), then a
// dense layer that has all elements of an example as its inputs: the layer's rows in another order read what was not
// transposed. So it is made of each such chain, if nobody else reads its values or the layer's weight; other transposes
// stay. Several in a row are all taken over. The same function; a sum of the layer adds the same products in another
// order, so that its last bits may differ. Without such a chain the file has the same bytes. Errors: those of
// Model::load.
Result<Model> without_transposes(const Model& model);

}  // namespace coterie
