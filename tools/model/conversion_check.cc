#include "tools/model/conversion_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "model_import/graph/order.h"
#include "model_import/interpret/interpret.h"
#include "tools/model/model_output.h"
#include "tools/model/random_inputs.h"

namespace coterie {
namespace {

using model_import::Array;
using model_import::Arrays;
using model_import::Element;
using model_import::Graph;
using model_import::Node;

constexpr int64_t kBatch = 2;  // of a file that leaves it open

// The elements as the model has them: images lie as NHWC.
Words words_of(const Array& array, bool is_image) {
  const model_import::Order order =
      is_image && array.rank() == 4 ? model_import::image_order(4) : model_import::identity_order(array.rank());
  const std::vector<uint64_t> sources = model_import::permuted_indices(array.shape, order);
  Words words(array.values.size());
  for (size_t i = 0; i < words.size(); ++i) {
    const double value = array.values[sources[i]];
    if (array.element == Element::real) {
      words[i] = static_cast<float>(value);
      continue;
    }
    const auto number = static_cast<int32_t>(value);
    std::memcpy(&words[i], &number, sizeof(number));
  }
  return words;
}

double number_of(float word, DataType type) {
  if (type == DataType::float32) return static_cast<double>(word);
  int32_t number;
  std::memcpy(&number, &word, sizeof(number));
  return static_cast<double>(number);
}

struct Difference {
  double absolute = 0, largest = 0;  // the largest value expected
  size_t compared = 0;               // numbers that are finite

  double relative() const { return absolute == 0 ? 0 : absolute / std::max(largest, kAbsoluteMax); }
  bool is_allowed() const { return absolute <= kAbsoluteMax + kRelativeMax * largest; }
};

// Beyond float32's range both are as good as infinite.
double narrowed(double value) {
  if (std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max())) return value;
  return std::isnan(value) ? value : std::copysign(INFINITY, value);
}

Difference difference_of(const Words& seen, DataType type, const Array& expected, bool is_image) {
  Difference difference;
  const model_import::Order order =
      is_image && expected.rank() == 4 ? model_import::image_order(4) : model_import::identity_order(expected.rank());
  const std::vector<uint64_t> sources = model_import::permuted_indices(expected.shape, order);
  for (size_t i = 0; i < seen.size(); ++i) {
    const double is = number_of(seen[i], type), should = narrowed(expected.values[sources[i]]);
    if (std::isnan(is) && std::isnan(should)) continue;
    if (!std::isfinite(is) || !std::isfinite(should)) {
      if (is != should) difference.absolute = INFINITY;
      continue;
    }
    ++difference.compared;
    difference.absolute = std::max(difference.absolute, std::fabs(is - should));
    difference.largest = std::max(difference.largest, std::fabs(should));
  }
  return difference;
}

// The model's output beside this one, for the same inputs.
Result<Difference> compared(const Model& model, const Graph& graph, const Arrays& inputs, int64_t batch,
                            const Array& expected) {
  std::vector<Words> words;
  if (model.graph().inputs.size() != graph.inputs.size())
    return Error(ErrorCode::malformed, "the model has not the inputs of the graph");
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string& name = graph.inputs[i].name;
    words.push_back(words_of(inputs.at(name), lies_nhwc(model, "input_layout", i)));
    if (words.back().size() != static_cast<uint64_t>(batch) * elements(model.input_shape(i)))
      return Error(ErrorCode::malformed, "input " + name + " of the model has another size than in the graph");
  }
  const bool is_image = lies_nhwc(model, "output_layout", 0);
  const uint32_t output = model.graph().output;
  Shape should = expected.shape;
  if (is_image && should.size() == 4) should = model_import::permuted(should, model_import::image_order(4));
  if (at_batch(model.shape(output), static_cast<uint64_t>(batch)) != should)
    return Difference{.absolute = INFINITY, .largest = 0, .compared = expected.values.size()};
  COT_ASSIGN(const Words seen, computed_output(model, words, static_cast<uint32_t>(batch), kernels::kernels()));
  return difference_of(seen, model.type(output), expected, is_image);
}

// Where the graph and its conversion part: for inputs that show it.
class Search {
 public:
  Search(const Graph& graph, const Arrays& inputs, int64_t batch, const Conversion& convert)
      : graph_(graph), inputs_(inputs), batch_(batch), convert_(convert) {
    std::set<std::string> needed{graph.outputs[0].name};
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
      for (const std::string& name : node->outputs) {
        if (name.empty() || !needed.contains(name)) continue;
        needed.insert(node->inputs.begin(), node->inputs.end());
        values_.push_back({name, &*node});
      }
    }
    std::ranges::reverse(values_);
  }

  // Halves the values between one that agrees and one that differs, then goes back while an operand differs, too.
  void into(ConversionResult& result) {
    if (values_.empty()) return;
    size_t first = halved();
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = 0; i < first && !moved; ++i) {
        const std::vector<std::string>& operands = values_[first].node->inputs;
        if (std::ranges::find(operands, values_[i].name) == operands.end() || differs(i) != true) continue;
        first = i;
        moved = true;
      }
    }
    result.first_tensor = values_[first].name;
    result.first_node = values_[first].node->what();
  }

 private:
  struct Value {
    std::string name;
    const Node* node;
  };

  // The index of a value that differs, where the one before it that can be compared agrees.
  size_t halved() {
    size_t high = values_.size() - 1;
    std::vector<size_t> open(high);  // those below that may still be it
    std::iota(open.begin(), open.end(), size_t{0});
    while (!open.empty()) {
      const auto middle = open.begin() + static_cast<std::ptrdiff_t>(open.size() / 2);
      const std::optional<bool> answer = differs(*middle);
      if (!answer) {
        open.erase(middle);  // shapes, say: it tells nothing
      } else if (*answer) {
        high = *middle;
        open.erase(middle, open.end());
      } else {
        open.erase(open.begin(), middle + 1);
      }
    }
    return high;
  }

  // Empty: the value is none that a model can have as its output.
  std::optional<bool> differs(size_t i) {
    if (i + 1 == values_.size()) return true;
    const std::string& name = values_[i].name;
    Graph part = graph_;
    part.outputs = {{.name = name, .element = Element::real, .shape = {}}};
    Result<Bytes> file = convert_(std::move(part));
    if (!file) return std::nullopt;
    const Result<Model> model = Model::load(std::move(*file));
    if (!model) return std::nullopt;
    const Result<Arrays> expected = model_import::interpret(graph_, inputs_, {name});
    if (!expected) return std::nullopt;
    const Result<Difference> difference = compared(*model, graph_, inputs_, batch_, expected->at(name));
    if (!difference) return std::nullopt;
    return !difference->is_allowed();
  }

  const Graph& graph_;
  const Arrays& inputs_;
  const int64_t batch_;
  const Conversion& convert_;
  std::vector<Value> values_;  // those that the output needs, in the graph's order
};

}  // namespace

Result<ConversionResult> check_conversion(const Graph& graph, const std::map<std::string, int64_t>& sizes,
                                          const Model& model, const Conversion& convert) {
  const std::string& output = graph.outputs[0].name;
  ConversionResult result{.output = output, .agrees = true};
  const int64_t batch = declared_batch(graph, kBatch);
  size_t finite = 0;
  for (uint64_t trial = 0; trial < kConversionTrials; ++trial) {
    // The last are larger: what is cut off (Relu6, Clip) is cut off on both sides.
    const double scale = trial + 1 == kConversionTrials ? 4 : 1;
    COT_ASSIGN(const Arrays inputs, random_inputs(graph, sizes, batch, trial + 1, scale));
    COT_ASSIGN(const Arrays expected, model_import::interpret(graph, inputs, {output}));
    COT_ASSIGN(const Difference difference, compared(model, graph, inputs, batch, expected.at(output)));
    finite += difference.compared;
    result.examples += static_cast<uint64_t>(batch);
    result.absolute = std::max(result.absolute, difference.absolute);
    result.relative = std::max(result.relative, difference.relative());
    if (difference.is_allowed()) continue;
    result.agrees = false;
    Search(graph, inputs, batch, convert).into(result);
    return result;
  }
  if (finite == 0)
    return Error(ErrorCode::invalid_argument, "for random inputs its output has no finite number to compare");
  return result;
}

}  // namespace coterie
