// Another head on a trained body: the last dense layer or convolution gets as many outputs as there are new classes.
//
// Its weights are drawn afresh and its biases 0, as every new layer's (model_builder.h); everything else keeps its
// values and its names. The layers behind it (a softmax, a flattening) fit themselves to the new number, and so does
// the loss.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

struct HeadSettings {
  std::string layer;     // the op's name, or its weight's without ".weight"
  uint32_t classes = 0;  // outputs
  uint64_t seed = 0;     // of its weights
  friend bool operator==(const HeadSettings&, const HeadSettings&) = default;
};

// "classifier.1:5" or, with a seed, "classifier.1:5:7". invalid_argument says what is wrong.
Result<HeadSettings> parse_head(std::string_view text);

// The file of the model with the new head. Errors: invalid_argument (there is no such layer, it is neither dense nor a
// convolution without groups, something else shares its weight, or what lies behind it does not fit so many outputs).
Result<Bytes> replace_head(const Model& model, const HeadSettings& settings);

}  // namespace coterie
