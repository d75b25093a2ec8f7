// Explanation: what a model says of one example, and what that has to do with each value of it.
#pragma once

#include <cstdint>
#include <optional>
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
  Attribution attribution;
};

// Explains output `picked` of `example`, counted from 0, or if none is given its highest. An example has
// `target_elements` targets. Errors: invalid_argument (an example or an output that there is not, and what the method
// says), and the source's.
Result<Explanation> explain(AskedModel& model, ExampleSource& examples, uint64_t target_elements, uint64_t example,
                            std::optional<uint32_t> picked, const AttributionMethod& method,
                            const AttributionSettings& settings);

// Places of an attribution's values, the largest magnitude first; of equals the first. At most `count`.
std::vector<size_t> strongest(const Attribution& attribution, size_t count);

}  // namespace coterie
