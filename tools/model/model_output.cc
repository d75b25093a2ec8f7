#include "tools/model/model_output.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/limits.h"

namespace coterie {

Result<Words> computed_output(const Model& model, const std::vector<Words>& inputs, uint32_t batch,
                              const kernels::KernelTable& kernels) {
  COT_ASSIGN(
      CompiledModel compiled,
      compile(model, {.purpose = Purpose::predict, .batch_size = batch, .arena_bytes_max = limits::kArenaBytesMax}));
  COT_ASSIGN(const Arena arena, Arena::create(compiled.layout, limits::kArenaBytesMax));
  compiled.program.bind(arena);
  const std::span<const float> parameters = model.parameters();
  std::ranges::copy(parameters, arena.region(Region::parameters).begin());
  const char* fault = nullptr;
  const StepContext context{.kernels = kernels, .fault = &fault};
  compiled.program.run(Phase::prepare, context);
  for (size_t i = 0; i < inputs.size(); ++i) std::ranges::copy(inputs[i], compiled.program.pointer(compiled.inputs[i]));
  compiled.program.run(Phase::forward, context);
  if (fault != nullptr) return Error(ErrorCode::invalid_argument, fault);
  const float* output = compiled.program.pointer(compiled.output);
  return Words(output, output + elements(at_batch(model.shape(model.graph().output), batch)));
}

bool lies_nhwc(const Model& model, const std::string& property, size_t i) {
  const auto found = model.graph().properties.find(property);
  if (found == model.graph().properties.end()) return false;
  std::string_view words = found->second;
  for (; i > 0 && words.find(',') != std::string_view::npos; --i) words.remove_prefix(words.find(',') + 1);
  return i == 0 && words.starts_with("nhwc");
}

std::vector<Words> random_words(const Model& model, uint32_t examples) {
  Prng prng(1);
  std::vector<Words> inputs;
  for (size_t i = 0; i < model.graph().inputs.size(); ++i) {
    Words words(examples * elements(model.input_shape(i)));
    for (float& word : words) {
      if (model.input_type(i) == DataType::float32) {
        word = static_cast<float>(prng.uniform(-1, 1));
      } else {
        const auto index = static_cast<int32_t>(prng.below(2));
        std::memcpy(&word, &index, sizeof(index));
      }
    }
    inputs.push_back(std::move(words));
  }
  return inputs;
}

}  // namespace coterie
