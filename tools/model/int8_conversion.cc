#include "tools/model/int8_conversion.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "device_sdk/runtime/int8/int8_predictor.h"
#include "model_import/graph/order.h"
#include "model_import/interpret/interpret.h"
#include "tools/model/model_output.h"
#include "tools/model/random_inputs.h"

namespace coterie {
namespace {

using model_import::Array;

constexpr int64_t kBatch = 8;  // of a file that leaves it open
constexpr uint64_t kTrials = 3;

// The largest magnitude on a grid: smaller inputs would all be one step, larger ones all the last.
double largest_on(const kernels::int8::Grid& grid) {
  return static_cast<double>(grid.scale) * std::max(127 - grid.zero, 128 + grid.zero);
}

// The elements as the model has them: images lie as NHWC.
std::vector<float> words_of(const Array& array, bool is_image) {
  const model_import::Order order =
      is_image && array.rank() == 4 ? model_import::image_order(4) : model_import::identity_order(array.rank());
  std::vector<float> words;
  for (const uint64_t source : model_import::permuted_indices(array.shape, order)) {
    words.push_back(static_cast<float>(array.values[source]));
  }
  return words;
}

}  // namespace

Result<Int8Conversion> check_int8_conversion(const model_import::Graph& graph,
                                             const std::map<std::string, int64_t>& sizes, const Int8Model& model) {
  Int8Predictor predictor(model.program);
  const auto batch = static_cast<uint64_t>(declared_batch(graph, kBatch));
  const std::string& output = graph.outputs[0].name;
  Int8Conversion result{.step = static_cast<double>(model.program.values[model.program.output].grid.scale)};
  const double input_max = largest_on(model.program.values[0].grid);
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    COT_ASSIGN(const model_import::Arrays inputs,
               random_inputs(graph, sizes, static_cast<int64_t>(batch), trial + 1, input_max));
    COT_ASSIGN(const model_import::Arrays expected, model_import::interpret(graph, inputs, {output}));
    const std::vector<float> x = words_of(inputs.at(graph.inputs[0].name), lies_nhwc(model.exact, "input_layout", 0));
    const std::vector<float> should = words_of(expected.at(output), lies_nhwc(model.exact, "output_layout", 0));
    std::vector<float> is(batch * predictor.output_elements());
    if (x.size() != batch * predictor.input_elements() || should.size() != is.size()) {
      return Error(ErrorCode::malformed, "the model has other sizes than the graph");
    }
    COT_TRY(predictor.run(x, batch, is));
    result.examples += batch;
    result.numbers += is.size();
    for (size_t i = 0; i < is.size(); ++i) {
      const double apart = std::fabs(static_cast<double>(is[i]) - static_cast<double>(should[i]));
      // A difference that is no number is none that is allowed.
      result.largest = std::isnan(apart) ? HUGE_VAL : std::max(result.largest, apart);
      if (!(apart <= 1.001 * result.step)) ++result.apart;
    }
  }
  return result;
}

}  // namespace coterie
