#include "tools/tune/tuning.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "tools/compare/comparison.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "coterie.tune.v1";
constexpr size_t kRungsMax = 64;

Error damaged() { return Error(ErrorCode::malformed, "it is not the state of a tuning, or is damaged"); }

// 1: only `a` is a number or it is better; -1: the other way; 0: neither.
int order_of(const std::optional<double>& a, const std::optional<double>& b, bool is_higher_better) {
  const bool has_a = a && std::isfinite(*a), has_b = b && std::isfinite(*b);
  if (!has_a || !has_b || *a == *b) return int{has_a} - int{has_b};
  return (*a > *b) == is_higher_better ? 1 : -1;
}

json json_of(const ArmRun& run) {
  json out = {{"arm", run.arm}};
  if (!run.job.empty()) out["job"] = run.job;
  if (!run.has_ended) return out;
  out["ended"] = true;
  if (!run.failure.empty()) {
    out["failure"] = run.failure;
    return out;
  }
  out["model"] = run.model;
  const auto say = [&](const char* key, const std::optional<double>& value) {
    if (value && std::isfinite(*value)) out[key] = *value;
  };
  say("accuracy", run.score.accuracy);
  say("mae", run.score.mae);
  say("loss", run.score.loss);
  return out;
}

ArmRun run_from(const json& in) {
  ArmRun run;
  run.arm = in.at("arm").get<size_t>();
  run.job = in.value("job", "");
  run.has_ended = in.value("ended", false);
  run.failure = in.value("failure", "");
  run.model = in.value("model", "");
  const auto hear = [&](const char* key, std::optional<double>& value) {
    if (in.contains(key)) value = in.at(key).get<double>();
  };
  hear("accuracy", run.score.accuracy);
  hear("mae", run.score.mae);
  hear("loss", run.score.loss);
  return run;
}

// A file from outside: whether the rungs and the runs go together.
bool is_whole(const std::vector<TuneRung>& rungs, const std::vector<std::vector<ArmRun>>& runs) {
  if (rungs.empty() || rungs.size() > kRungsMax || runs.empty() || runs.size() > rungs.size()) return false;
  const uint64_t arms = rungs.front().arms;
  if (arms > kVariantsMax || runs.front().size() != arms) return false;
  for (const std::vector<ArmRun>& rung : runs) {
    std::vector<bool> seen(arms);
    for (const ArmRun& run : rung) {
      if (run.arm >= arms || seen[run.arm]) return false;
      seen[run.arm] = true;
      if (run.has_ended && run.failure.empty() && (run.model.empty() || run.job.empty())) return false;
      if (&rung != &runs.back() && !run.has_ended) return false;
    }
    if (rung.empty() || rung.size() > arms) return false;
  }
  return true;
}

}  // namespace

bool is_better(const ArmScore& a, const ArmScore& b) {
  if (const int by = order_of(a.accuracy, b.accuracy, true); by != 0) return by > 0;
  if (const int by = order_of(a.mae, b.mae, false); by != 0) return by > 0;
  return order_of(a.loss, b.loss, false) > 0;
}

Tuning::Tuning(std::string id, std::string request, std::vector<TuneRung> rungs)
    : id_(std::move(id)), request_(std::move(request)), rungs_(std::move(rungs)), runs_(1) {
  COT_ASSERT(!rungs_.empty());
  for (size_t arm = 0; arm < rungs_.front().arms; ++arm) runs_.front().push_back({.arm = arm});
}

json Tuning::to_json() const {
  json rungs = json::array(), runs = json::array();
  for (const TuneRung& rung : rungs_) {
    rungs.push_back({{"arms", rung.arms}, {"rounds", rung.rounds}, {"added", rung.added}});
  }
  for (const std::vector<ArmRun>& rung : runs_) {
    json list = json::array();
    for (const ArmRun& run : rung) list.push_back(json_of(run));
    runs.push_back(std::move(list));
  }
  return {{"schema", kSchema}, {"id", id_}, {"request", request_}, {"rungs", rungs}, {"runs", runs}};
}

Result<Tuning> Tuning::from_json(const json& in) {
  Tuning tuning;
  // The library throws what is of the wrong kind; nothing of it leaves this function.
  try {
    if (in.at("schema") != kSchema) return damaged();
    tuning.id_ = in.at("id").get<std::string>();
    tuning.request_ = in.at("request").get<std::string>();
    for (const json& rung : in.at("rungs")) {
      tuning.rungs_.push_back(
          {rung.at("arms").get<uint64_t>(), rung.at("rounds").get<uint32_t>(), rung.at("added").get<uint32_t>()});
    }
    for (const json& rung : in.at("runs")) {
      tuning.runs_.emplace_back();
      for (const json& run : rung) tuning.runs_.back().push_back(run_from(run));
    }
  } catch (const json::exception&) {
    return damaged();
  }
  if (tuning.id_.empty() || !is_whole(tuning.rungs_, tuning.runs_)) return damaged();
  return tuning;
}

std::string Tuning::job_name(size_t arm) const {
  return id_ + "-" + std::to_string(runs_.size()) + "-" + std::to_string(arm + 1);
}

std::vector<size_t> Tuning::to_begin() const {
  std::vector<size_t> arms;
  for (const ArmRun& run : runs_.back()) {
    if (!run.has_ended && run.job.empty()) arms.push_back(run.arm);
  }
  return arms;
}

std::vector<size_t> Tuning::under_way() const {
  std::vector<size_t> arms;
  for (const ArmRun& run : runs_.back()) {
    if (!run.has_ended && !run.job.empty()) arms.push_back(run.arm);
  }
  return arms;
}

ArmRun& Tuning::run(size_t arm) {
  const auto found = std::ranges::find(runs_.back(), arm, &ArmRun::arm);
  COT_ASSERT(found != runs_.back().end());
  return *found;
}

const ArmRun& Tuning::run_of(size_t arm) const {
  const auto found = std::ranges::find(runs_.back(), arm, &ArmRun::arm);
  COT_ASSERT(found != runs_.back().end());
  return *found;
}

std::string Tuning::model_before(size_t arm) const {
  if (runs_.size() == 1) return "";
  const auto& before = runs_[runs_.size() - 2];
  return std::ranges::find(before, arm, &ArmRun::arm)->model;
}

void Tuning::began(size_t arm, std::string job) {
  COT_ASSERT(run(arm).job.empty() && !job.empty());
  run(arm).job = std::move(job);
}

void Tuning::ended(size_t arm, ArmScore score, std::string model) {
  COT_ASSERT(!run(arm).job.empty() && !run(arm).has_ended && !model.empty());
  run(arm).score = score;
  run(arm).model = std::move(model);
  end(arm);
}

void Tuning::failed(size_t arm, std::string why) {
  COT_ASSERT(!run(arm).has_ended && !why.empty());
  run(arm).failure = std::move(why);
  end(arm);
}

void Tuning::end(size_t arm) {
  run(arm).has_ended = true;
  if (runs_.size() == rungs_.size()) return;
  if (!std::ranges::all_of(runs_.back(), &ArmRun::has_ended)) return;
  std::vector<ArmRun> best = ranked(runs_.back());
  if (best.empty()) return;
  if (best.size() > rungs_[runs_.size()].arms) best.resize(rungs_[runs_.size()].arms);
  runs_.emplace_back();
  for (const ArmRun& one : best) runs_.back().push_back({.arm = one.arm});
  std::ranges::sort(runs_.back(), {}, &ArmRun::arm);
}

std::vector<ArmRun> Tuning::ranked(const std::vector<ArmRun>& runs) {
  std::vector<ArmRun> ranked;
  std::ranges::copy_if(runs, std::back_inserter(ranked),
                       [](const ArmRun& run) { return run.has_ended && run.failure.empty(); });
  std::ranges::stable_sort(ranked, [](const ArmRun& a, const ArmRun& b) { return is_better(a.score, b.score); });
  return ranked;
}

bool Tuning::is_over() const { return std::ranges::all_of(runs_.back(), &ArmRun::has_ended); }

std::optional<ArmRun> Tuning::best() const {
  for (auto rung = runs_.rbegin(); rung != runs_.rend(); ++rung) {
    const std::vector<ArmRun> best = ranked(*rung);
    if (!best.empty()) return best.front();
  }
  return std::nullopt;
}

uint64_t Tuning::rounds_spent() const {
  uint64_t rounds = 0;
  for (size_t i = 0; i < runs_.size(); ++i) rounds += ranked(runs_[i]).size() * rungs_[i].added;
  return rounds;
}

}  // namespace coterie
