#include "scheduler/rollout/canary_machine.h"

#include <iterator>
#include <string>

namespace coterie {
namespace {

constexpr std::string_view kStates[] = {"running", "promoted", "rolled_back", "ended"};

}  // namespace

std::string_view to_string(CanaryState state) {
  const size_t index = static_cast<size_t>(state) - 1;
  COT_ASSERT(index < std::size(kStates));
  return kStates[index];
}

Problems validate(const CanarySettings& settings) {
  Problems problems = validate(settings.trial);
  const auto require = [&](bool condition, const char* pointer, std::string detail) {
    if (!condition) problems.push_back({pointer, std::move(detail)});
  };
  require(settings.percent >= 1 && settings.percent <= 99, "/percent",
          "must be in [1, 99]: without other devices there is nothing to go back to; promote the version instead");
  require(settings.trial.devices_max <= kCanaryHeardMax, "/devices_max",
          "must be at most " + std::to_string(kCanaryHeardMax));
  require(settings.promote_after <= settings.trial.devices_max, "/promote_after",
          "must be at most devices_max: no more observations are heard");
  return problems;
}

bool is_countable(const CanaryCounts& counts) {
  return counts.examples() >= 1 && counts.examples() <= kCanaryExamplesMax;
}

CanaryMachine::CanaryMachine(const CanarySettings& settings, CanaryState state, const HeardHarms& heard)
    : settings_(settings), evidence_(settings.trial, heard), state_(state) {
  COT_ASSERT(validate(settings).empty());
}

bool CanaryMachine::observe(const CanaryCounts& counts) {
  COT_ASSERT(is_countable(counts));
  if (state_ != CanaryState::running || is_full()) return false;
  evidence_.hear(counts.harm());
  look();
  if (step_check_.is_due(0)) check();
  return true;
}

// Harm comes first: the observation with which a promotion is due may be the one that shows it.
void CanaryMachine::look() {
  if (evidence_.says_harmful()) end_as(CanaryState::rolled_back);
  else if (settings_.promote_after > 0 && heard().heard >= settings_.promote_after) end_as(CanaryState::promoted);
}

void CanaryMachine::end_as(CanaryState state) {
  COT_INVARIANT(state_ == CanaryState::running, "a canary ends once");
  state_ = state;
}

void CanaryMachine::promote() {
  if (state_ == CanaryState::running) end_as(CanaryState::promoted);
  if (step_check_.is_due(0)) check();
}

void CanaryMachine::end() {
  if (state_ == CanaryState::running) end_as(CanaryState::ended);
  if (step_check_.is_due(0)) check();
}

RolloutVerdict CanaryMachine::verdict() const {
  if (evidence_.says_harmful()) return RolloutVerdict::harmful;
  if (evidence_.says_harmless()) return RolloutVerdict::harmless;
  return is_full() ? RolloutVerdict::undecided : RolloutVerdict::open;
}

void CanaryMachine::check() const {
  evidence_.check();
  COT_INVARIANT(evidence_.says_harmful() == (state_ == CanaryState::rolled_back),
                "a canary is rolled back where the evidence says so, and nowhere else");
  COT_INVARIANT(heard().heard <= settings_.trial.devices_max, "no more was heard than may be");
  COT_INVARIANT(
      state_ != CanaryState::running || settings_.promote_after == 0 || heard().heard < settings_.promote_after,
      "a canary that is due to be promoted by itself does not run");
}

}  // namespace coterie
