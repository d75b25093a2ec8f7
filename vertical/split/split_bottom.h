// SplitBottom: the layers in front of an mlp's cut, as devices of a party trained them in a horizontal job, and their
// way into the party's part of a split network.
//
//   devices train    bottom, and a head of their own task behind it: dense
//   bottom           dense, relu, dense, tanh; without a hidden layer dense, tanh (split_settings.h)
//
// Devices normalised their columns by a contract, the party does so by the people of the vertical job. place_bottom()
// writes the first layer anew, so that it says of a value what it said at the devices:
//
//   z1 = (x - m1) / d1, at the devices          x = m2 + d2 z2
//   z2 = (x - m2) / d2, at the party            z1 = z2 d2 / d1 + (m2 - m1) / d1
//   sum w z1 + b = sum (w d2 / d1) z2 + (b + sum w (m2 - m1) / d1)
//
// That is exact but for rounding, of values that both have within kSplitNumberMax deviations. A missing value is the
// party's mean; what the devices' model says of missing values by inputs of its own is not taken over.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "vertical/split/split_columns.h"
#include "vertical/split/split_settings.h"

namespace coterie::vertical {

struct DenseWeights {
  uint32_t inputs = 0, units = 0;
  std::vector<float> weights;  // [input][unit]
  std::vector<float> biases;   // [unit]
};

struct SplitBottom {
  std::vector<DenseWeights> layers;  // the hidden one, if there is one, and the cut's
};

// Where a column was among the devices' inputs, and how it became one: (value - mean) / deviation. Deviation 0: 0,
// whatever the value.
struct BottomInput {
  std::string name = {};  // of the column, for errors
  uint32_t input = 0;
  double mean = 0, deviation = 1;
};

// What devices train: `inputs` numbers in, `outputs` out. invalid_argument: settings of another network than mlp, a
// width out of range.
Result<Bytes> make_bottom_model(const SplitSettings& settings, uint32_t inputs, uint32_t outputs, uint64_t seed);

// Out of such a model. invalid_argument with the reason "bottom_differs", which says what layer was expected and what
// is there: another network, other widths, an input of another kind.
Result<SplitBottom> read_bottom(const SplitSettings& settings, const Model& trained, uint32_t inputs);

// A party's part whose bottom is `bottom`: the model file of `network`, which is of the same settings. `columns`: of
// the party, in the order of `fitted`; a column that the devices did not have keeps its weights. The same errors, and
// "bottom_overflows", which names the column: a weight is not finite when it is written anew.
Result<Bytes> place_bottom(const Model& network, size_t own_input, const SplitBottom& bottom,
                           std::span<const std::optional<BottomInput>> columns, const SplitColumns& fitted);

}  // namespace coterie::vertical
