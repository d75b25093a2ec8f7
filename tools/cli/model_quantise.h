// coterie model quantise and dequantise: weights of a model file as integers, and back.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/loss_heads.h"
#include "proto/codec/stored_integers.h"
#include "proto/messages/plan.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct QuantiseOptions {
  std::string from, to, data;  // files; the data also a name that load_data knows, or nothing with `ranges`
  std::string ranges;          // of a job's answer (tools/ranges/range_answer.h); empty: those of the data
  std::optional<Loss> loss;    // by the data unless given
  std::vector<TrainingHead> heads = {};
  std::optional<int32_t> ignore_label = {};
  std::string augment;      // as in training: what it resizes and normalises; empty: nothing
  double drop_max = 0.005;  // of accuracy, in [0, 1]; of a regression the loss's growth as part of it
  uint64_t calibration_examples = 512;
  std::vector<std::string> keep;  // patterns of weights that stay float32
  uint32_t threads = 1;
  std::optional<uint32_t> weight_bits = 8;  // none: found for each weight, so that the file has the ratio
  std::optional<double> target_ratio = {};  // how many times smaller than the float32 file; kTargetRatio unless given
  bool is_full = false;                     // activations, too: the file computes in int8
  bool as_json = false;
};

inline constexpr double kTargetRatio = 8, kTargetRatioMin = 1.1, kTargetRatioMax = 64;

// Prints the report by layer and what the model is worth before and after. Fails, and writes nothing, if the drop is
// larger.
ExitCode quantise_model(const QuantiseOptions& options);

struct DequantiseOptions {
  std::string from, to;
};
// The float32 file that such a file stands for.
ExitCode dequantise_model(const DequantiseOptions& options);

// How much worse: points of accuracy as a part of 1, or the growth of a regression's loss as a part of it.
double drop_between(const Evaluation& before, const Evaluation& after, bool is_classified);
// The same of the head that has lost most. Preconditions: the same heads, at least one.
double drop_between(std::span<const HeadResult> before, std::span<const HeadResult> after);

// A drop that is no number is not allowed. One of exactly so much is, whatever the difference of two accuracies is
// rounded to.
bool is_allowed(double drop, double drop_max);

// "4" or "auto", which is none; in [kStoredBitsMin, kStoredBitsMax].
Result<std::optional<uint32_t>> parse_weight_bits(const std::string& text);

// "0.5%" or "0.005" as 0.005; within [0, 1].
Result<double> parse_drop(const std::string& text);

}  // namespace coterie
