// Explanation: what a model says of one example, and what that has to do with each value of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "device_sdk/runtime/example_source.h"
#include "tools/explain/attribution.h"

namespace coterie {

struct Explanation {
  uint64_t example = 0;
  std::vector<float> input;
  std::vector<float> target;  // of labels the bytes of int32
  uint32_t picked = 0;        // the output that is explained
  double score = 0;           // what it is
  uint32_t predicted = 0;     // the highest output
  Attribution attribution;
};

// Explains output `picked` of `example`, counted from 0, or if none is given its highest. An example has
// `target_elements` targets. Errors: invalid_argument (an example or an output that there is not, what the method says,
// and what must_be_finite says), and the source's.
Result<Explanation> explain(AskedModel& model, ExampleSource& examples, uint64_t target_elements, uint64_t example,
                            std::optional<uint32_t> picked, const AttributionMethod& method,
                            const AttributionSettings& settings);

// Errors, invalid_argument, name the example and the method: a score or an attribution that is infinite or no number.
Status must_be_finite(const Explanation& explanation, std::string_view method);

// Places of an attribution's values, the largest magnitude first; of equals the first. At most `count`.
std::vector<size_t> strongest(const Attribution& attribution, size_t count);

}  // namespace coterie
