// What the admin plane says about rounds, as plain structs; and which of it is news.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "scheduler/job/evaluated_head.h"
#include "scheduler/job/watch_outcome.h"

namespace coterie {

// One attempt at one round.
struct RoundReport {
  uint64_t number = 0;
  uint32_t attempt = 0;
  std::string state;  // selecting, collecting, frozen, finalizing, done, failed
  std::string reason;
  uint64_t goal_count = 0;
  uint64_t selected = 0;
  uint64_t accepted = 0;
  double seconds = 0;        // from opened to closed; 0 while it runs
  uint64_t examples = 0;     // from here on: of a round that is done
  double train_seconds = 0;  // sum over its devices
  std::optional<double> train_loss, train_accuracy;
  std::optional<double> evaluation_loss, evaluation_accuracy;
  std::optional<double> clip_norm;                      // of a job with adaptive clipping
  std::optional<double> evaluation_mae, evaluation_r2;  // of a job whose targets are numbers
  std::vector<EvaluatedHead> evaluation_heads = {};     // of a job with heads
  std::optional<double> proximal_mu;                    // of a job whose mu adapts itself
  std::optional<WatchOutcome> watch = {};               // of a job that is watched
  uint64_t model_version = 0;

  bool has_ended() const { return state == "done" || state == "failed"; }
  friend bool operator==(const RoundReport&, const RoundReport&) = default;
};

struct RoundsPage {
  std::string job_state;                   // running, paused, completed, cancelled, failed
  std::vector<RoundReport> rounds;         // newest first
  std::optional<std::string> next_before;  // there are older ones: of the query for them
  std::optional<double> epsilon_budget;    // of a job with noise
  std::optional<double> epsilon;           // spent by now; none: no noise, or nothing is protected
};

// What a model, a round's summary or an event has under `watch`; none: it has no such key. Throws what nlohmann does.
std::optional<WatchOutcome> watch_in(const nlohmann::json& json);

// An answer of /jobs/{job}/rounds. Errors: malformed.
Result<RoundsPage> parse_rounds(const nlohmann::json& json);

// Remembers which rounds were told, so that each is told once, in order. Pure.
class RoundLedger {
 public:
  // Whether `page` reaches back to what was told already: else the next older page is needed, too.
  bool reaches_back(const RoundsPage& page) const;
  // The attempts of `newest_first` (any number of pages, together) that have ended and were not told; oldest first.
  std::vector<RoundReport> take_ended(const std::vector<RoundReport>& newest_first);

 private:
  using Key = std::pair<uint64_t, uint32_t>;  // number, attempt
  uint64_t done_ = 0;                         // every attempt of the rounds up to this one was told
  std::set<Key> told_;                        // and these, of later ones
};

}  // namespace coterie
