// DemoResult: what a demo found out; and how it is told: as CSV, as JSON, as text, as a chart. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/admin/round_report.h"
#include "tools/demo/chart.h"
#include "tools/demo/mean_baseline.h"
#include "tools/demo/options.h"
#include "tools/model/evaluate.h"

namespace coterie {

struct Terminal;

// Where the time went, in seconds. Training: of each round, the mean over its devices of the time each spent
// training (they train at the same time). Finalizing: the server, from partial sums to the next, evaluated
// model. The rest of the rounds is what devices and server spend on talking: check-in, download, upload, and
// waiting for the slowest.
struct DemoPhases {
  double prepare = 0;  // data, split, files
  double server_start = 0;
  double devices_start = 0;  // until all are enrolled
  double rounds = 0;         // of which:
  double training = 0;
  double finalizing = 0;
  double finish = 0;  // results, and the end of all processes

  double network() const;  // the rest of `rounds`
  double total() const { return prepare + server_start + devices_start + rounds + finish; }
};

// What the server said that a run with noise has spent.
struct DemoPrivacy {
  double epsilon = 0;
  double delta = 0;
  std::string accountant;
  double noise_multiplier = 0;
  double clip = 0;
  std::string ledger_head;
  friend bool operator==(const DemoPrivacy&, const DemoPrivacy&) = default;
};
// Reads the answer of /jobs/{job}; none without noise, or where nothing is protected.
std::optional<DemoPrivacy> privacy_in(const nlohmann::json& job);

struct DemoResult {
  DemoOptions options;
  std::string program;  // as the user called it, for the commands to try next
  std::string run_dir;
  std::string data_name;
  std::string model_name = "cnn";
  std::vector<std::string> class_names;  // of each label
  double majority_accuracy = 0;          // held out, of always saying the most frequent class
  uint64_t training_examples = 0;
  uint64_t held_out_examples = 0;
  std::optional<MeanBaseline> mean_baseline;  // where the target is a number
  ModelScore before;                          // the untrained model
  ModelScore after;
  std::vector<ModelScore> narrow = {};  // the trained one at each of options.widths but the whole
  std::string model_digest;
  uint64_t model_bytes = 0;
  uint64_t update_bytes = 0;          // that a device sends in a round
  uint64_t download_bytes = 0;        // that it fetches of the model then, at most, if it was in the round before
  std::vector<RoundReport> attempts;  // all that ended, oldest first
  std::vector<std::vector<uint32_t>> label_counts;
  std::vector<uint32_t> rounds_trained;
  uint32_t devices_restarted = 0;
  uint32_t dropouts = 0;  // how often a device was put to sleep
  DemoPhases phases;
  std::optional<DemoPrivacy> privacy;             // with noise
  bool has_ledger = false;                        // ledger.json is in the folder
  std::optional<double> accuracy_without_attack;  // of the same run in which nobody lied, where some do
};

// Whether the model's own output gives numbers, which have a mean absolute error and no accuracy.
bool is_of_numbers(const DemoResult& result);

// The attempts that became a model.
std::vector<RoundReport> done_rounds(const DemoResult& result);

// Training time of the rounds, as DemoPhases::training.
double training_seconds(const std::vector<RoundReport>& rounds);

// One line a round that is done; empty where there is no number.
std::string metrics_csv(const DemoResult& result);

// One object; `indent` -1 makes it one line.
std::string summary_json(const DemoResult& result, int indent);

// For a person: result, files, time, what to try next.
std::string summary_text(const DemoResult& result, const Terminal& terminal);

ChartData chart_of(const DemoResult& result);

}  // namespace coterie
