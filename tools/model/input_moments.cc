#include "tools/model/input_moments.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"
#include "tools/model/partial_model.h"

namespace coterie {
namespace {

// Where the inputs of one image or of some rows are, and those that an output reads.
struct Window {
  int64_t height = 1, width = 1, channels = 0;
  int64_t out_height = 1, out_width = 1;  // its places
  int64_t kernel_h = 1, kernel_w = 1;
  Conv2dAttributes conv;

  uint64_t places() const { return static_cast<uint64_t>(out_height * out_width); }
  // What the outputs of a group read at a place; behind the edges are zeros.
  void read(std::span<const float> image, uint64_t place, int64_t group, std::span<double> to) const {
    const auto at = static_cast<int64_t>(place);
    const int64_t in_group = channels / conv.groups;
    const int64_t top = at / out_width * conv.stride_h - conv.pad_top,
                  left = at % out_width * conv.stride_w - conv.pad_left;
    auto next = to.begin();
    for (int64_t kh = 0; kh < kernel_h; ++kh) {
      for (int64_t kw = 0; kw < kernel_w; ++kw) {
        const int64_t y = top + kh * conv.dilation_h, x = left + kw * conv.dilation_w;
        const bool is_inside = y >= 0 && y < height && x >= 0 && x < width;
        const auto from = static_cast<size_t>((y * width + x) * channels + group * in_group);
        for (int64_t c = 0; c < in_group; ++c) {
          *next++ = is_inside ? static_cast<double>(image[from + static_cast<size_t>(c)]) : 0;
        }
      }
    }
  }
};

Window window_of(const Model& model, const OpInfo& op) {
  const Shape &in = model.shape(op.inputs[0]), &out = model.shape(op.outputs[0]),
              &weight = model.graph().tensors[op.inputs[1]].shape;
  Window window;
  window.channels = in.back();
  if (op.kind == OpKind::dense) {
    for (size_t i = 1; i + 1 < in.size(); ++i) window.width *= in[i];
    window.out_width = window.width;
    return window;
  }
  window.height = in[1], window.width = in[2];
  window.out_height = out[1], window.out_width = out[2];
  window.kernel_h = weight[0], window.kernel_w = weight[1];
  window.conv = std::get<Conv2dAttributes>(op.attributes);
  return window;
}

// Every step-th place, so that there are at most kMomentSamplesMax; all columns of an image have their turn.
uint64_t step_between(uint64_t examples, uint64_t places) {
  uint64_t step = (examples * places + kMomentSamplesMax - 1) / kMomentSamplesMax;
  while (step > 1 && std::gcd(step, places) != 1) ++step;
  return std::max<uint64_t>(step, 1);
}

}  // namespace

const OpInfo* sole_reader(const ModelGraph& graph, uint32_t weight) {
  const OpInfo* found = nullptr;
  for (const OpInfo& op : graph.ops) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] != weight) continue;
      if (found != nullptr || i != 1 || (op.kind != OpKind::dense && op.kind != OpKind::conv2d)) return nullptr;
      found = &op;
    }
  }
  return found;
}

Result<std::optional<InputMoments>> input_moments(const Model& model, const OpInfo& op, ExampleSource& examples,
                                                  uint64_t target_elements) {
  const Shape& weight = model.graph().tensors[op.inputs[1]].shape;
  const Window window = window_of(model, op);
  InputMoments moments{.groups = window.conv.groups, .rows = static_cast<size_t>(elements(weight) / weight.back())};
  const size_t rows = moments.rows;
  if (rows > kMomentRowsMax || moments.groups > kMomentValuesMax / (rows * rows) ||
      model.shape(op.inputs[0]).front() >= 0) {
    return std::optional<InputMoments>();
  }
  moments.values.resize(moments.groups * rows * rows);
  const auto image_values = static_cast<size_t>(window.height * window.width * window.channels);
  const auto of_an_example = static_cast<uint64_t>(-model.shape(op.inputs[0]).front());  // images, or rows
  const uint64_t step = step_between(examples.size() * of_an_example, window.places());
  uint64_t next = 0, seen = 0, samples = 0;  // places of all examples, counted through
  std::vector<double> x(rows);
  const auto add = [&](std::span<const float> image, uint64_t place) {
    for (size_t g = 0; g < moments.groups; ++g) {
      window.read(image, place, static_cast<int64_t>(g), x);
      double* const matrix = moments.values.data() + g * rows * rows;
      for (size_t i = 0; i < rows; ++i) {
        if (x[i] == 0) continue;
        for (size_t j = i; j < rows; ++j) matrix[i * rows + j] += x[i] * x[j];
      }
    }
  };
  const Status ran =
      for_each_activation(model, op.inputs[0], examples, target_elements, [&](std::span<const float> values) {
        for (; !values.empty(); values = values.subspan(image_values), seen += window.places()) {
          for (; next < seen + window.places(); next += step, ++samples) {
            add(values.first(image_values), next - seen);
          }
        }
      });
  // What leads to the layer may be no model by itself.
  if (!ran && ran.error().code() == ErrorCode::malformed) return std::optional<InputMoments>();
  if (!ran) return ran.error();
  for (size_t g = 0; g < moments.groups; ++g) {
    double* const matrix = moments.values.data() + g * rows * rows;
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = i; j < rows; ++j) matrix[j * rows + i] = matrix[i * rows + j] /= static_cast<double>(samples);
    }
  }
  return std::optional(std::move(moments));
}

}  // namespace coterie
