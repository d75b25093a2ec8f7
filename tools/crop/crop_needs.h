// What a build needs that has the ops of some models alone (cmake/CoterieOps.cmake), counted, and the list that
// COTERIE_OPS_FROM takes. cmake/ops_from.py reads the same from the same files; a test holds both against each other.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

enum class OpKind : uint8_t;
enum class Loss : uint8_t;
enum class OptimizerKind : uint8_t;
struct ModelGraph;

// Ways to compute a convolution that a build may be without: it is then computed by what is left.
enum class ConvolutionWay : uint8_t { depthwise, fft, winograd, winograd_4x4 };
inline constexpr ConvolutionWay kConvolutionWays[] = {ConvolutionWay::depthwise, ConvolutionWay::fft,
                                                      ConvolutionWay::winograd, ConvolutionWay::winograd_4x4};
std::string_view to_string(ConvolutionWay way);

// What a build may be without beside ops; a list leaves them out, models do not say. Instruction sets, of which a
// client takes the best that its CPU has, and those of device_sdk/runtime/left_out.h.
enum class BuildFeature : uint8_t {
  augmentation,
  avx2,
  avx512,
  bf16,
  channels,
  delegates,
  early_stopping,
  encryption,
  heads,
  joined_steps,
  loss_scaling,
  memory_limit,
  qat,
  soft_labels,
  threads,
  waves
};
inline constexpr BuildFeature kBuildFeatures[] = {
    BuildFeature::augmentation, BuildFeature::avx2,         BuildFeature::avx512,         BuildFeature::bf16,
    BuildFeature::channels,     BuildFeature::delegates,    BuildFeature::early_stopping, BuildFeature::encryption,
    BuildFeature::heads,        BuildFeature::joined_steps, BuildFeature::loss_scaling,   BuildFeature::memory_limit,
    BuildFeature::qat,          BuildFeature::soft_labels,  BuildFeature::threads,        BuildFeature::waves};
std::string_view to_string(BuildFeature feature);
std::optional<BuildFeature> build_feature_from(std::string_view name);

struct CropNeeds {
  std::map<OpKind, uint64_t> ops;           // how many the models have of each
  std::map<ConvolutionWay, uint64_t> ways;  // how many convolutions may take each
  std::set<Loss> losses;                    // by class and squared errors of classes are in every build
  std::set<OptimizerKind> optimizers;       // sgd is in every build
  std::set<BuildFeature> without;           // left out by who asks for the list

  // Adds what a model is made of.
  void add(const ModelGraph& graph);
};

// Whether some op that is needed can be computed in several ways.
bool has_convolution(const CropNeeds& needs);

// A list may be so large, in bytes.
inline constexpr size_t kCropListBytesMax = 64 * 1024;

// The list: names of ops, losses and optimizers, -WAY for what no convolution needs, and -FEATURE. `comment` is one
// line.
std::string crop_list_text(const CropNeeds& needs, std::string_view comment);

// -WAY and -FEATURE, sorted by name: all that a build from the list is without beside ops.
std::vector<std::string> left_out_by(const CropNeeds& needs);

// What a list has: each op and each way counted once. Errors: invalid_argument (a word that names nothing, no op, too
// long).
Result<CropNeeds> read_crop_list(std::string_view text);

// The names of what `needed` has and `list` has not, ops first: a build from the list refuses it. A way that is left
// out is no reason to refuse.
std::vector<std::string> missing_in_list(const CropNeeds& needed, const CropNeeds& list);

}  // namespace coterie
