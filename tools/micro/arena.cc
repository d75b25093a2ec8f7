#include "tools/micro/arena.h"

#include <algorithm>
#include <string>

namespace coterie {
namespace {

// Steps: layer k forward is step k, the loss is step L, layer k backward is step 2 L - k.
class Buffers {
 public:
  size_t add(uint64_t elements, size_t step) {
    lifetimes.push_back({elements, static_cast<uint32_t>(step), static_cast<uint32_t>(step)});
    return lifetimes.size() - 1;
  }
  void use(size_t buffer, size_t step) {
    lifetimes[buffer].last = std::max(lifetimes[buffer].last, static_cast<uint32_t>(step));
  }
  std::vector<Lifetime> lifetimes;
};

bool is_in_place(const MicroLayer& layer) { return layer.kind == MicroKind::relu || layer.kind == MicroKind::softmax; }

// Which buffer has each layer's output; what the caller owns has none.
struct Values {
  std::vector<std::optional<size_t>> of;
  std::optional<size_t> before(size_t layer) const { return layer == 0 ? std::nullopt : of[layer - 1]; }
};

Values lay_values(std::span<const MicroLayer> layers, bool trains, Buffers& buffers) {
  // Layers that compute in place at the very end do so in the caller's output.
  size_t callers = layers.size();
  while (!trains && callers > 0 && (callers == layers.size() || is_in_place(layers[callers]))) --callers;
  Values values{std::vector<std::optional<size_t>>(layers.size())};
  for (size_t k = 0; k < layers.size(); ++k) {
    if (values.before(k)) buffers.use(*values.before(k), k);
    if (!trains && k >= callers) continue;
    const bool shares = is_in_place(layers[k]) && values.before(k);  // the program's input is never written
    values.of[k] = shares ? values.before(k) : buffers.add(layers[k].out, k);
  }
  return values;
}

bool is_trained(const ModelGraph& graph, std::optional<uint32_t> tensor) {
  return tensor && !graph.tensors[*tensor].is_frozen;
}

std::vector<std::optional<size_t>> lay_gradients(const ModelGraph& graph, std::span<const MicroLayer> layers,
                                                 size_t first_trained, const Values& values, Buffers& buffers) {
  const size_t count = layers.size();
  std::vector<std::optional<size_t>> gradients(count);
  buffers.use(*values.of[count - 1], count);
  gradients[count - 1] = buffers.add(layers[count - 1].out, count);
  for (size_t k = count; k-- > first_trained;) {
    const MicroLayer& layer = layers[k];
    const size_t step = 2 * count - k;
    buffers.use(*gradients[k], step);
    if (layer.has_relu || layer.kind == MicroKind::relu) buffers.use(*values.of[k], step);
    const bool reads_input = is_trained(graph, layer.weight) || layer.kind == MicroKind::max_pool2d;
    if (reads_input && values.before(k)) buffers.use(*values.before(k), step);
    if (k == first_trained) continue;
    gradients[k - 1] = layer.kind == MicroKind::relu ? gradients[k] : buffers.add(layer.in, step);
  }
  return gradients;
}

std::string amount(uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

}  // namespace

Result<MicroArena> plan_micro_arena(const ModelGraph& graph, std::span<const MicroLayer> layers, bool trains,
                                    uint64_t bytes_max) {
  MicroArena arena;
  for (const MicroLayer& layer : layers) {
    for (const std::optional<uint32_t> tensor : {layer.weight, layer.bias}) {
      if (!tensor) continue;
      COT_ASSIGN(const uint64_t elements, element_count(graph.tensors[*tensor].shape));
      arena.parameters.push_back({.tensor = *tensor, .elements = elements});
    }
  }
  std::ranges::sort(arena.parameters, {}, &MicroParameter::tensor);
  if (trains) {
    for (MicroParameter& parameter : arena.parameters) {
      if (graph.tensors[parameter.tensor].is_frozen) continue;
      parameter.value = arena.trained;
      arena.trained += parameter.elements;
    }
    for (MicroParameter& parameter : arena.parameters) {
      if (parameter.value) parameter.gradient = arena.trained + *parameter.value;
    }
  }

  Buffers buffers;
  const Values values = lay_values(layers, trains, buffers);
  std::vector<std::optional<size_t>> gradients(layers.size());
  if (trains) {
    while (!is_trained(graph, layers[arena.first_trained].weight) &&
           !is_trained(graph, layers[arena.first_trained].bias)) {
      ++arena.first_trained;
    }
    gradients = lay_gradients(graph, layers, arena.first_trained, values, buffers);
  }

  // plan_memory counts in pieces of 64 bytes; told of one piece a float, it plans in floats.
  arena.lifetimes = buffers.lifetimes;
  std::vector<Lifetime> pieces = buffers.lifetimes;
  for (Lifetime& lifetime : pieces) lifetime.bytes *= kBufferAlignment;
  const MemoryPlan plan = plan_memory(pieces);
  const uint64_t begin = 2 * arena.trained;
  for (const uint64_t offset : plan.offsets) arena.offsets.push_back(begin + offset / kBufferAlignment);
  arena.lower_bound = plan.lower_bound / kBufferAlignment;
  const auto place = [&](std::optional<size_t> buffer) {
    return buffer ? std::optional(arena.offsets[*buffer]) : std::nullopt;
  };
  for (size_t k = 0; k < layers.size(); ++k) {
    arena.values.push_back(place(values.of[k]));
    arena.gradients.push_back(place(gradients[k]));
  }
  arena.elements = begin + plan.bytes / kBufferAlignment;
  if (trains) arena.examples = arena.elements++;
  if (arena.bytes() > std::min(bytes_max, kMicroArenaBytesMax)) {
    const std::string of_training =
        trains ? " (" + amount(2 * arena.trained * kElementBytes) + " of parameters and their gradients)" : "";
    return Error(ErrorCode::too_large,
                 "the arena would have " + amount(arena.bytes()) + of_training + ", and " +
                     amount(std::min(bytes_max, kMicroArenaBytesMax)) + " are allowed; take a smaller model" +
                     (trains ? ", or freeze its first layers" : ", or one that computes in int8"));
  }
  return arena;
}

}  // namespace coterie
