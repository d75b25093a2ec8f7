// What both parties of a split network must agree on; it is a part of the job's manifest.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/stage/wire.h"

namespace coterie::vertical {

// mlp        columns as numbers -> hidden layer -> cut, tanh; at both parties. Top: both cuts -> hidden layer -> logit
// wide_deep  buckets of columns -> embeddings -> cut, relu; a weight a bucket goes straight to the logit
// deepfm     likewise, and all pairs of embeddings, those across the parties among them
// two_tower  a tower at each party; the logit is the inner product of their ends
enum class SplitNetwork : uint8_t { mlp = 0, wide_deep = 1, deepfm = 2, two_tower = 3 };
inline constexpr size_t kSplitNetworks = 4;

// How a number lies in a message (cut_tensor.h).
enum class CutEncoding : uint8_t { float32 = 0, int8 = 1, bit1 = 2 };
inline constexpr size_t kCutEncodings = 3;

// What the label party does to each row's gradient before it sends it (gradient_protection.h).
enum class GradientProtection : uint8_t { none = 0, max_norm = 1, marvell = 2 };
inline constexpr size_t kGradientProtections = 3;

struct SplitSettings {
  SplitNetwork network = SplitNetwork::mlp;
  uint32_t hidden = 16;    // width of a bottom's hidden layer; 0: none
  uint32_t cut = 16;       // width of a bottom's end
  uint32_t top = 16;       // width of the top's hidden layer; 0: none
  uint32_t embedding = 4;  // numbers a bucket, of all networks but mlp
  uint32_t buckets = 16;   // of a column, by quantiles, likewise
  uint32_t epochs = 20;
  uint32_t batch = 64;  // rows of a step; the last of an epoch may have fewer
  bool shuffle = true;  // in an order of its own in each epoch, which both parties know
  bool is_adam = true;  // else gradient descent
  double rate = 0.01;
  uint32_t in_flight = 1;      // batches whose gradients are still to come: they are so much older at most
  uint32_t commit_steps = 64;  // a checkpoint each so many steps; none is in flight then
  CutEncoding activations = CutEncoding::float32;
  CutEncoding gradients = CutEncoding::float32;
  GradientProtection protection = GradientProtection::none;
  double label_epsilon = 0;     // of randomised response on each label, once; 0: labels as they are
  double activation_clip = 0;   // L2 norm of a row's activations at most, with noise on them; 0: as they are
  double activation_noise = 0;  // its standard deviation, over activation_clip

  bool hides_labels() const { return protection != GradientProtection::none || label_epsilon > 0; }
  bool hides_features() const { return activation_clip > 0; }
  friend bool operator==(const SplitSettings&, const SplitSettings&) = default;
};

constexpr uint32_t kSplitWidthMax = 1024;  // of a layer
constexpr uint32_t kSplitEmbeddingMax = 64;
constexpr uint32_t kSplitBucketsMax = 256;
constexpr uint32_t kSplitEpochsMax = 10'000;
constexpr uint32_t kSplitBatchMax = 1u << 14;
constexpr uint32_t kInFlightMax = 8;
// All batches in flight but one have so many bytes at most. Both parties may be sending at once then, and neither reads
// meanwhile: what one says must fit the network between them.
constexpr size_t kInFlightBytesMax = size_t{128} << 10;
constexpr uint32_t kCommitStepsMax = 1024;
constexpr uint32_t kSplitRowsMax = 1u << 26;
constexpr double kLabelEpsilonMin = 0.1, kLabelEpsilonMax = 20;
constexpr double kActivationNoiseMin = 0.01, kActivationNoiseMax = 16;

// Numbers that cross for a row, each way in training.
uint32_t cut_width(const SplitSettings& settings);

// invalid_argument names the setting, what it may be and what it is; and, with the reason "not_together", settings that
// exclude each other.
Status check_split_settings(const SplitSettings& settings);

std::string_view split_network_name(SplitNetwork network);
std::string_view cut_encoding_name(CutEncoding encoding);
std::string_view gradient_protection_name(GradientProtection protection);

// kSplitSettingsBytes bytes, and back: `malformed`, or check_split_settings()'s errors.
constexpr size_t kSplitSettingsBytes = 76;
void write_split_settings(const SplitSettings& settings, WireWriter& writer);
Result<SplitSettings> read_split_settings(WireReader& reader);

}  // namespace coterie::vertical
