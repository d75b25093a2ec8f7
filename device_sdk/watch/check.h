// Checks: what a watched training is asked, one row for each. The parser of watch files, the help, the table in
// docs/DEBUGGING.md and the hits have their names and settings from here. Pure.
//
// Conditions are those of MindInsight 1.9's debugger, in double: whatever compares is left out where a value is not
// finite, or where nothing was there before. What it has not: dead_relu, loss_not_decreasing, update_norm_outlier,
// label_drift; and operator_overflow, which it has on one accelerator alone.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "device_sdk/watch/change_statistics.h"
#include "device_sdk/watch/tensor_statistics.h"

namespace coterie {

// What a check reads.
enum class Subject : uint8_t {
  op,          // each op's outputs, beside what it read
  tensor,      // each op's outputs
  activation,  // the outputs of relu, relu6, sigmoid and tanh
  relu,        // the outputs of relu and relu6, by unit: the last dimension
  weight,      // trained parameters, behind each step
  initial,     // trained parameters with two dimensions or more, before the first step
  gradient,    // of the loss by trained parameters, as the optimizer gets it
  loss,        // its mean over some steps
  update,      // the L2 norm of a step's change of all trained parameters
  labels       // the classes of the examples
};
inline constexpr size_t kSubjects = 10;
constexpr std::string_view to_string(Subject subject) {
  constexpr std::string_view kNames[kSubjects] = {"op",      "tensor",   "activation", "relu",   "weight",
                                                  "initial", "gradient", "loss",       "update", "labels"};
  return kNames[static_cast<size_t>(subject)];
}
// Whether it reads one tensor, not the training as a whole: patterns choose among tensors.
constexpr bool is_of_tensors(Subject subject) { return subject < Subject::loss; }

// Every float32 is between -kAnyNumber and kAnyNumber: a setting with these bounds has none.
inline constexpr double kAnyNumber = std::numeric_limits<float>::max();

struct CheckSetting {
  std::string_view name;
  double min = 0, max = 0;              // both allowed
  std::optional<double> standard = {};  // none: it is not looked at unless it is given
  bool is_threshold = true;             // what makes the check fire: a check needs one, given or standard
  bool is_whole = false;                // a whole number
};

struct TensorView {
  ElementType type = ElementType::float32;
  const void* data = nullptr;
  uint64_t count = 0;
};

// What a check is given; what its subject does not have is empty.
struct Seen {
  TensorView tensor = {};
  TensorStatistics now = {};
  bool read_finite = true;                          // op: whether all that it read was
  std::span<const float> values = {}, before = {};  // weight: behind and in front of the step; no before: none known
  ChangeStatistics change = {};                     // of those
  bool is_rate_small = false;                       // weight: the step's learning rate was below 1 % of the largest
  double dead_share = 0;                            // relu: of the units, those that are zero for the whole batch
  std::optional<double> loss_before = {};           // loss: the window before
  double loss = 0, loss_first = 0;                  // the window, and the first of all
  double norm = 0, norm_median = 0, norm_deviation = 0;  // update; of the looks before: median, median deviation
  uint64_t norms = 0;                                    // how many those are
  double label_distance = 0;  // labels: half the sum of the differences of the classes' shares
};

// By the row's order; what is not there is not asked for.
using CheckValues = std::span<const std::optional<double>>;

struct Firing {
  std::string_view setting;     // whose threshold was passed; empty: there is none
  std::string_view comparison;  // of value with threshold: "<", "<=", ">", ">="
  double value = 0, threshold = 0;
};

struct Check {
  std::string_view name;
  Subject subject;
  std::string_view fires_when;
  std::span<const CheckSetting> settings;
  std::optional<Firing> (*judge)(CheckValues values, const Seen& seen);
  uint64_t steps = 0;  // standard: for how many steps it must hold, at each look
};

// All of them, in the order of the documents. Static.
std::span<const Check> all_checks();
const Check* find_check(std::string_view name);

// The standards of a check, for settings that nobody gives.
std::vector<std::optional<double>> standard_values(const Check& check);
// The index of a setting. Precondition: the check has it.
size_t setting_index(const Check& check, std::string_view name);

}  // namespace coterie
