// Tuning: which arm of which rung is to begin, from which model, and which arm is the best; with all that a driver must
// know to go on after a kill. Pure: the driver makes jobs of it (tune_jobs.h) and keeps it as a file.
//
// A job's name follows from the tuning, the rung and the arm: a driver that was killed before it had noted a job finds
// the job by its name, and makes no second one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/tune/tune_rungs.h"

namespace coterie {

// What the server's held-out data say of an arm's last model; what is absent is not known.
struct ArmScore {
  std::optional<double> accuracy, mae, loss;
  friend bool operator==(const ArmScore&, const ArmScore&) = default;
};
// Whether `a` is better: by accuracy, else by mean absolute error, else by loss. What is not known or no number is
// worse than anything.
bool is_better(const ArmScore& a, const ArmScore& b);

// One arm in one rung.
struct ArmRun {
  size_t arm = 0;   // its place among the settings
  std::string job;  // empty: none was made yet
  bool has_ended = false;
  ArmScore score;       // once it has ended, as the rest
  std::string model;    // digest of its last model
  std::string failure;  // why it has none; empty: it has
  friend bool operator==(const ArmRun&, const ArmRun&) = default;
};

class Tuning {
 public:
  // `id`: short; begins the names of its jobs. `request`: a digest of all that decides what the arms come to.
  Tuning(std::string id, std::string request, std::vector<TuneRung> rungs);
  // As to_json() has written it; malformed.
  static Result<Tuning> from_json(const nlohmann::json& json);
  nlohmann::json to_json() const;

  const std::string& id() const { return id_; }
  const std::string& request() const { return request_; }
  const std::vector<TuneRung>& rungs() const { return rungs_; }
  // The runs of the rungs so far; the last of them is under way, unless it is over.
  const std::vector<std::vector<ArmRun>>& runs() const { return runs_; }
  std::string job_name(size_t arm) const;  // in the rung under way: "t7k2q9xa-2-13"

  // ---- The rung under way
  std::vector<size_t> to_begin() const;   // arms without a job
  std::vector<size_t> under_way() const;  // with one that has not ended
  const ArmRun& run_of(size_t arm) const;
  // The model that an arm begins this rung with; empty: the job's own.
  std::string model_before(size_t arm) const;

  // `arm` is of the rung under way. Preconditions: it has no job; it has one that has not ended.
  void began(size_t arm, std::string job);
  void ended(size_t arm, ArmScore score, std::string model);
  void failed(size_t arm, std::string why);

  // All arms of the last rung have ended, or all of one have failed.
  bool is_over() const;
  // The best of the last rung that has an arm which did not fail.
  std::optional<ArmRun> best() const;
  uint64_t rounds_spent() const;  // by what has ended and not failed

 private:
  Tuning() = default;
  ArmRun& run(size_t arm);
  void end(size_t arm);  // and begins the next rung where it was the last one
  // The arms of a rung that did not fail, the best first.
  static std::vector<ArmRun> ranked(const std::vector<ArmRun>& runs);

  std::string id_, request_;
  std::vector<TuneRung> rungs_;
  std::vector<std::vector<ArmRun>> runs_;
};

}  // namespace coterie
