#include "device_sdk/runtime/waves.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <ranges>

namespace coterie {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// What is done with a step that needs several branches. defer: it waits, if two of them are worth a thread.
enum class Join : uint8_t { merge, defer };

struct Machine {
  uint32_t threads;
  double branch_nanoseconds_min;
};

// A wave in the making: it takes one step after the other, from some step on.
class Gathering {
 public:
  Gathering(std::span<const WaveStep> steps, size_t begin, Join join, const Machine& machine)
      : steps_(steps), begin_(begin), join_(join), machine_(machine) {}

  // False: the wave ends in front of the next step.
  bool take_next() {
    const size_t step = begin_ + branch_of_.size();
    if (step == steps_.size() || branch_of_.size() == kWaveStepsMax || steps_[step].runs_alone) return false;
    needed_.clear();
    bool waits = false;
    for (const uint32_t need : steps_[step].needs) {
      if (need < begin_) continue;
      const uint32_t branch = branch_of_[need - begin_];
      waits = waits || branch == kBehind;
      if (branch != kBehind) add_once(needed_, root_of(branch));
    }
    if (waits ||
        (join_ == Join::defer && std::ranges::count_if(needed_, [&](uint32_t b) { return is_worth(b); }) > 1)) {
      behind_nanoseconds_ += steps_[step].cut_nanoseconds;
      branch_of_.push_back(kBehind);
      return true;
    }
    if (needed_.empty()) {
      if (live_.size() == kWaveBranchesMax) return false;
      needed_.push_back(static_cast<uint32_t>(parent_.size()));
      live_.push_back(needed_[0]);
      parent_.push_back(needed_[0]);
      loads_.push_back(0);
    }
    const uint32_t into = needed_[0];
    for (const uint32_t branch : std::span(needed_).subspan(1)) {
      parent_[branch] = into;
      loads_[into] += loads_[branch];
      std::erase(live_, branch);
    }
    loads_[into] += steps_[step].whole_nanoseconds;
    branch_of_.push_back(into);
    return true;
  }

  size_t end() const { return begin_ + branch_of_.size(); }

  // What the wave and the steps behind it take; kNever if fewer than two branches are worth a thread.
  double nanoseconds() {
    if (std::ranges::count_if(live_, [&](uint32_t branch) { return is_worth(branch); }) < 2) return kNever;
    sorted_.clear();
    for (const uint32_t branch : live_) sorted_.push_back(loads_[branch]);
    std::ranges::sort(sorted_, std::greater());
    busy_.assign(std::min<size_t>(machine_.threads, sorted_.size()), 0);
    for (const double load : sorted_) *std::ranges::min_element(busy_) += load;
    const auto handed = static_cast<double>(busy_.size() - 1);
    return std::ranges::max(busy_) + handed * machine_.branch_nanoseconds_min * kHandingShare + behind_nanoseconds_;
  }

  // Appends the wave and what waits behind it.
  void put_into(WavePlan& plan) {
    std::ranges::stable_sort(live_, std::greater(), [&](uint32_t branch) { return loads_[branch]; });
    Wave wave{.begin = static_cast<uint32_t>(plan.order.size())};
    const auto put = [&](const auto& is_meant) {
      for (size_t i = 0; i < branch_of_.size(); ++i) {
        if (is_meant(branch_of_[i])) plan.order.push_back(static_cast<uint32_t>(begin_ + i));
      }
    };
    for (const uint32_t branch : live_) {
      put([&](uint32_t of) { return of != kBehind && root_of(of) == branch; });
      wave.branch_ends.push_back(static_cast<uint32_t>(plan.order.size()));
    }
    plan.waves.push_back(std::move(wave));
    put([](uint32_t of) { return of == kBehind; });
  }

 private:
  static constexpr uint32_t kBehind = ~0u;

  static void add_once(std::vector<uint32_t>& list, uint32_t value) {
    if (std::ranges::find(list, value) == list.end()) list.push_back(value);
  }
  bool is_worth(uint32_t branch) const { return loads_[branch] >= machine_.branch_nanoseconds_min; }
  uint32_t root_of(uint32_t branch) {
    while (parent_[branch] != branch) branch = parent_[branch] = parent_[parent_[branch]];
    return branch;
  }

  std::span<const WaveStep> steps_;
  size_t begin_;
  Join join_;
  Machine machine_;
  std::vector<uint32_t> branch_of_;  // per step from begin_ on; kBehind: it waits
  std::vector<uint32_t> parent_;     // per branch: what it has become a part of; itself
  std::vector<double> loads_;        // per branch
  std::vector<uint32_t> live_;       // those that are their own
  double behind_nanoseconds_ = 0;
  std::vector<uint32_t> needed_;       // by the step that is being taken
  std::vector<double> sorted_, busy_;  // scratch of nanoseconds()
};

// How the cheapest way to some step ends: with one step, or with a wave from `begin` on.
struct Way {
  double nanoseconds = kNever;
  size_t begin = 0;
  Join join = Join::merge;
  bool is_wave = false;
};

void find_waves_from(std::span<const WaveStep> steps, size_t begin, const Machine& machine, std::vector<Way>& ways) {
  for (const Join join : {Join::merge, Join::defer}) {
    Gathering gathering(steps, begin, join, machine);
    double in_turn = 0;
    while (gathering.take_next()) {
      const size_t end = gathering.end();
      in_turn += steps[end - 1].cut_nanoseconds;
      const double wave = gathering.nanoseconds();
      if (wave * kWaveGainMin > in_turn || ways[begin].nanoseconds + wave >= ways[end].nanoseconds) continue;
      ways[end] = {ways[begin].nanoseconds + wave, begin, join, true};
    }
  }
}

}  // namespace

WavePlan plan_waves(std::span<const WaveStep> steps, uint32_t threads, double branch_nanoseconds_min) {
  const Machine machine{threads, branch_nanoseconds_min};
  std::vector<Way> ways(steps.size() + 1);
  ways[0].nanoseconds = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const double alone = ways[i].nanoseconds + steps[i].cut_nanoseconds;
    if (alone < ways[i + 1].nanoseconds) ways[i + 1] = {.nanoseconds = alone, .begin = i};
    if (threads > 1) find_waves_from(steps, i, machine, ways);
  }
  std::vector<size_t> ends;  // of the ways' pieces, the last first
  for (size_t end = steps.size(); end > 0; end = ways[end].begin) ends.push_back(end);
  WavePlan plan;
  for (const size_t end : std::ranges::reverse_view(ends)) {
    const Way& way = ways[end];
    if (!way.is_wave) {
      plan.order.push_back(static_cast<uint32_t>(way.begin));
      continue;
    }
    Gathering gathering(steps, way.begin, way.join, machine);
    while (gathering.end() < end) gathering.take_next();
    gathering.put_into(plan);
  }
  return plan;
}

}  // namespace coterie
