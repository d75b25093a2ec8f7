// Which products of its inputs a dense layer or a convolution sees, on average over examples: by them it can be told
// what an error in a weight costs, and which other weights can make up for it.
//
// The layer reads x in the network as it was, and y in the rounded one, whose layers before have changed it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// Layers whose outputs read more inputs have none: two matrices of 8 MiB, and the time of 25 billion multiplications.
inline constexpr size_t kMomentRowsMax = 1024;
// Nor have convolutions whose matrices have more values, all groups together: 32 MiB of y, and as much of y and x. A
// file of one depthwise layer with large kernels would otherwise ask for thousands of times its own size.
inline constexpr size_t kMomentValuesMax = size_t{4} << 20;
// What is looked at of all examples and places of a convolution, evenly.
inline constexpr uint64_t kMomentSamplesMax = 16384;

// Each for every group of a convolution (a dense layer has one), over what an output reads in the order of the weight's
// rows: [kh, kw, inputs of the group], or the inputs.
struct InputMoments {
  size_t groups = 1, rows = 0;
  std::vector<double> values = {};                   // [groups, rows, rows]: the mean of y_i y_j
  std::vector<double> cross = {};                    // [groups, rows, rows]: that of y_i x_j
  std::vector<double> means = {}, exact_means = {};  // [groups, rows]: of y, and of x
};
// The same of what lies around the means: covariances. What an output is off by on average costs nothing then, as a
// bias takes it back.
InputMoments centred(InputMoments moments);

// The moments of a layer as they are added up.
class MomentSums {
 public:
  // For the weight of `op`, which is sole_reader's, over so many examples. None: it reads more than kMomentRowsMax
  // inputs, or has more than kMomentValuesMax moments, or its input has not the batch first.
  static std::optional<MomentSums> create(const Model& model, const OpInfo& op, uint64_t examples);

  // Some whole examples' values of the op's input, in the order of the examples: y and x.
  void add(std::span<const float> rounded, std::span<const float> exact);
  // Precondition: something was added.
  InputMoments moments() const;

 private:
  // Where the inputs of one image or of some rows are, and those that an output reads.
  struct Window {
    int64_t height = 1, width = 1, channels = 0;
    int64_t out_height = 1, out_width = 1;  // its places
    int64_t kernel_h = 1, kernel_w = 1;
    Conv2dAttributes conv;

    uint64_t places() const { return static_cast<uint64_t>(out_height * out_width); }
    // What the outputs of a group read at a place; behind the edges are zeros.
    void read(std::span<const float> image, uint64_t place, int64_t group, std::span<double> to) const;
  };
  static Window window_of(const Model& model, const OpInfo& op);
  MomentSums() = default;
  void add_place(std::span<const float> rounded, std::span<const float> exact, uint64_t place);

  Window window_;
  size_t image_values_ = 0;
  uint64_t step_ = 1, next_ = 0, seen_ = 0, samples_ = 0;  // places of all examples, counted through
  InputMoments sums_;
  std::vector<double> y_, x_;
};

// The dense layer or convolution that reads the weight, if nobody else does and the model itself writes nothing there;
// null: there is none.
const OpInfo* sole_reader(const ModelGraph& graph, uint32_t weight);

// The moments for the weight of `op`, which is sole_reader's, by the network as it was and as it is rounded; none:
// those of MomentSums::create, or what leads to it is no model by itself. An example has `target_elements` targets,
// which are not looked at. Precondition: both have one graph. Errors: those of the source; invalid_argument (no
// examples).
Result<std::optional<InputMoments>> input_moments(const Model& exact, const Model& rounded, const OpInfo& op,
                                                  ExampleSource& examples, uint64_t target_elements);

}  // namespace coterie
