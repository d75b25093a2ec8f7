#include "device_sdk/runtime/recompute.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace coterie {
namespace {

constexpr uint32_t kNone = ~0u;

constexpr int kPatience = 32;             // rounds that take nothing off the peak
constexpr int kTimesCutMax = 3;           // the same life in front of the same step: cuts may go in circles
constexpr uint64_t kTooSmallShare = 200;  // a value so much smaller than what is to be freed is left alone
constexpr uint64_t kSmallShare = 16;      // a value so much smaller than the one that is cut is held, not made again

// A value as it was made once, by its step or by a run of it again.
struct Instance {
  uint32_t value = 0;
  uint32_t first = 0, last = 0;  // positions in the order
  std::vector<uint32_t> uses;    // positions, rising, `first` among them
  uint32_t overwrites = kNone;   // the instance in whose memory it lies
};

// What an order of the steps means: who reads which instance, and what is alive when.
class Outlook {
 public:
  // Instance::uses costs the most; without them it is for the peak alone.
  Outlook(const StepSchedule& schedule, const std::vector<uint32_t>& order, bool with_uses)
      : schedule_(schedule), order_(order), with_uses_(with_uses) {
    find_instances();
    share_memory();
    add_up();
  }

  uint64_t peak() const { return *std::max_element(alive_.begin(), alive_.end()); }
  const std::vector<uint64_t>& alive() const { return alive_; }
  const std::vector<Instance>& instances() const { return instances_; }

  // The instance of the value that a step in front of `position` would read.
  uint32_t instance_at(uint32_t value, uint32_t position) const {
    uint32_t found = kNone;
    for (const uint32_t i : of_value_[value]) {
      if (instances_[i].first < position || instances_[i].first == 0) found = i;
    }
    return found;
  }

 private:
  void begin(uint32_t value, uint32_t position) {
    of_value_[value].push_back(static_cast<uint32_t>(instances_.size()));
    instances_.push_back({.value = value, .first = position, .last = position});
    if (with_uses_) instances_.back().uses.push_back(position);
  }

  void find_instances() {
    instances_.reserve(schedule_.values.size() + order_.size());
    of_value_.resize(schedule_.values.size());
    for (uint32_t value = 0; value < schedule_.values.size(); ++value) {
      if (schedule_.values[value].made_by == kNoStep) begin(value, 0);
    }
    for (uint32_t position = 0; position < order_.size(); ++position) {
      const ScheduledStep& step = schedule_.steps[order_[position]];
      for (const uint32_t value : step.reads) {
        Instance& read = instances_[of_value_[value].back()];
        read.last = position;
        if (with_uses_ && read.uses.back() != position) read.uses.push_back(position);
      }
      for (const uint32_t value : step.writes) begin(value, position);
    }
    for (Instance& instance : instances_) {
      if (schedule_.values[instance.value].lives_to_end) instance.last = static_cast<uint32_t>(order_.size() - 1);
    }
  }

  // As Program::owners, which has the last word.
  void share_memory() {
    std::vector<uint32_t> last(instances_.size());
    for (size_t i = 0; i < instances_.size(); ++i) last[i] = instances_[i].last;
    owner_last_ = last;
    for (uint32_t i = 0; i < instances_.size(); ++i) {  // by their first position
      Instance& made = instances_[i];
      for (const uint32_t value : schedule_.may_overwrite[made.value]) {
        const uint32_t operand = instance_at(value, made.first);
        if (operand == kNone) continue;
        uint32_t owner = operand;
        while (instances_[owner].overwrites != kNone) owner = instances_[owner].overwrites;
        if (owner == i || owner_last_[owner] != made.first) continue;
        if (schedule_.values[instances_[owner].value].bytes < schedule_.values[made.value].bytes) continue;
        made.overwrites = owner;
        owner_last_[owner] = made.last;
        break;
      }
    }
  }

  void add_up() {
    std::vector<uint64_t> change(order_.size() + 1);  // modulo 2^64
    for (uint32_t i = 0; i < instances_.size(); ++i) {
      if (instances_[i].overwrites != kNone) continue;
      const uint64_t bytes = schedule_.values[instances_[i].value].bytes;
      change[instances_[i].first] += bytes;
      change[owner_last_[i] + 1] -= bytes;
    }
    alive_.resize(order_.size());
    uint64_t sum = 0;
    for (size_t position = 0; position < order_.size(); ++position) alive_[position] = sum += change[position];
  }

  const StepSchedule& schedule_;
  const std::vector<uint32_t>& order_;
  bool with_uses_;
  std::vector<Instance> instances_;
  std::vector<std::vector<uint32_t>> of_value_;
  std::vector<uint32_t> owner_last_;  // by instance: when its memory is free
  std::vector<uint64_t> alive_;       // by position
};

// A life cut between two uses: the steps to run again in front of the later one.
struct Cut {
  std::vector<uint32_t> steps;  // in their order
  uint32_t position = 0;
  uint32_t value = 0;
  double score = 0;
};

class Recomputer {
 public:
  Recomputer(const StepSchedule& schedule, uint64_t bytes) : schedule_(schedule), limit_(bytes) {
    for (uint32_t i = 0; i < schedule.steps.size(); ++i) order_.push_back(i);
  }

  Recomputation run() {
    if (order_.empty()) return {};
    Recomputation best = outcome();
    int rounds_without_gain = 0;
    while (best.peak_bytes > limit_ && rounds_without_gain < kPatience && cut_best()) {
      Recomputation next = outcome();
      rounds_without_gain = next.peak_bytes < best.peak_bytes ? 0 : rounds_without_gain + 1;
      if (next.peak_bytes < best.peak_bytes) best = std::move(next);
    }
    order_ = best.order;
    limit_ = std::max(limit_, best.peak_bytes);
    undo_needless();
    return outcome();
  }

 private:
  Recomputation outcome() const {
    Recomputation result{.order = order_, .peak_bytes = Outlook(schedule_, order_, false).peak()};
    std::vector<bool> seen(schedule_.steps.size());
    for (const uint32_t step : order_) {
      if (seen[step]) result.cost += schedule_.steps[step].cost;
      seen[step] = true;
    }
    return result;
  }

  // Whether the order's entry is a run again, by position; and the next step that is not, at or behind each
  // position.
  void find_runs() {
    is_again_.assign(order_.size(), false);
    next_original_.assign(order_.size() + 1, static_cast<uint32_t>(schedule_.steps.size()));
    std::vector<bool> seen(schedule_.steps.size());
    for (size_t i = 0; i < order_.size(); ++i) {
      is_again_[i] = seen[order_[i]];
      seen[order_[i]] = true;
    }
    for (size_t i = order_.size(); i-- > 0;) next_original_[i] = is_again_[i] ? next_original_[i + 1] : order_[i];
  }

  bool cut_best() {
    find_runs();
    const Outlook outlook(schedule_, order_, true);
    exceeding_.assign(order_.size() + 1, 0);
    for (size_t i = 0; i < order_.size(); ++i) exceeding_[i + 1] = exceeding_[i] + (outlook.alive()[i] > limit_);
    // Small values are left alone: to look at all of them takes time that grows with the square of the model.
    const uint64_t bytes_min = (outlook.peak() - limit_) / kTooSmallShare;
    std::optional<Cut> best;
    for (const Instance& instance : outlook.instances()) {
      if (schedule_.values[instance.value].made_by == kNoStep || bytes_of(instance.value) < bytes_min) continue;
      for (size_t i = 1; i < instance.uses.size(); ++i) {
        std::optional<Cut> cut = cut_between(outlook, instance, instance.uses[i - 1], instance.uses[i]);
        if (cut && (!best || cut->score > best->score)) best = std::move(cut);
      }
    }
    if (!best) return false;
    ++times_cut_[{best->value, order_[best->position]}];
    carry_out(outlook, *best);
    return true;
  }

  uint64_t bytes_of(uint32_t value) const { return schedule_.values[value].bytes; }

  // Between two positions, both excluded: what exceeds the limit, of at most so many bytes that are alive
  // there.
  double excess_of(const Outlook& outlook, uint32_t from, uint32_t to, uint64_t bytes) const {
    if (to <= from + 1 || exceeding_[to] == exceeding_[from + 1]) return 0;
    uint64_t sum = 0;
    for (uint32_t i = from + 1; i < to; ++i) {
      const uint64_t alive = outlook.alive()[i];
      if (alive > limit_) sum += std::min(bytes, alive - limit_);
    }
    return static_cast<double>(sum);
  }

  // Likewise: by how much more the limit is exceeded if so many bytes are alive, too.
  double excess_with(const Outlook& outlook, uint32_t from, uint32_t to, uint64_t bytes) const {
    uint64_t sum = 0;
    for (uint32_t i = from + 1; i < to; ++i) {
      const uint64_t alive = outlook.alive()[i] + bytes;
      if (alive > limit_) sum += std::min(bytes, alive - limit_);
    }
    return static_cast<double>(sum);
  }

  std::optional<Cut> cut_between(const Outlook& outlook, const Instance& instance, uint32_t from, uint32_t to) const {
    const uint64_t bytes = bytes_of(instance.value);
    double freed = excess_of(outlook, from, to, bytes);
    if (freed <= 0) return std::nullopt;
    const auto times = times_cut_.find({instance.value, order_[to]});
    if (times != times_cut_.end() && times->second >= kTimesCutMax) return std::nullopt;
    Cut cut{.position = to, .value = instance.value};
    double cost = 0;
    if (!add_step(outlook, schedule_.values[instance.value].made_by, to, bytes, cut.steps, freed, cost)) {
      return std::nullopt;
    }
    // Bytes freed for each nanosecond of computing again; the best first.
    cut.score = freed / std::max(cost, 1e-30);
    return cut;
  }

  // Adds the step behind those that make again what it reads and what is not there; takes from `freed` what
  // is held for it longer. False if it may not run there, or nothing is left.
  bool add_step(const Outlook& outlook, uint32_t index, uint32_t at, uint64_t bytes, std::vector<uint32_t>& steps,
                double& freed, double& cost) const {
    if (!may_run(index, at)) return false;
    for (const uint32_t value : schedule_.steps[index].reads) {
      const Instance& there = outlook.instances()[outlook.instance_at(value, at)];
      if (there.last >= at) continue;
      const double held = excess_with(outlook, there.last, at, bytes_of(value));
      if (held == 0) continue;
      const uint32_t maker = schedule_.values[value].made_by;
      const bool is_small = bytes_of(value) * kSmallShare <= bytes;
      if (maker == kNoStep || is_small || !may_run(maker, at)) {
        freed -= held;
      } else if (std::find(steps.begin(), steps.end(), maker) == steps.end() &&
                 !add_step(outlook, maker, at, bytes, steps, freed, cost)) {
        return false;
      }
      if (freed <= 0) return false;
    }
    steps.push_back(index);
    cost += schedule_.steps[index].cost;
    return true;
  }

  bool may_run(uint32_t step, uint32_t at) const { return schedule_.steps[step].again_until >= next_original_[at]; }

  // The next run of a step that is run now is left out if what is made now can be held until then.
  void carry_out(const Outlook& outlook, const Cut& cut) {
    std::vector<uint32_t> order(order_.begin(), order_.begin() + cut.position);
    order.insert(order.end(), cut.steps.begin(), cut.steps.end());
    std::vector<uint32_t> open = cut.steps;
    for (uint32_t i = cut.position; i < order_.size(); ++i) {
      const auto run = std::find(open.begin(), open.end(), order_[i]);
      if (is_again_[i] && run != open.end()) {
        uint64_t bytes = 0;
        for (const uint32_t value : schedule_.steps[*run].writes) bytes += bytes_of(value);
        open.erase(run);
        if (excess_with(outlook, cut.position, i, bytes) == 0) continue;
      }
      order.push_back(order_[i]);
    }
    order_ = std::move(order);
  }

  void undo_needless() {
    for (bool changed = true; changed;) {
      changed = false;
      find_runs();
      std::vector<std::pair<double, uint32_t>> runs;  // dearest first
      for (uint32_t i = 0; i < order_.size(); ++i) {
        if (is_again_[i]) runs.emplace_back(-schedule_.steps[order_[i]].cost, i);
      }
      std::sort(runs.begin(), runs.end());
      std::vector<bool> left_out(order_.size());
      for (const auto& [cost, position] : runs) {
        left_out[position] = true;
        if (Outlook(schedule_, without(left_out), false).peak() <= limit_) changed = true;
        else left_out[position] = false;
      }
      order_ = without(left_out);
    }
  }

  std::vector<uint32_t> without(const std::vector<bool>& left_out) const {
    std::vector<uint32_t> order;
    for (size_t i = 0; i < order_.size(); ++i) {
      if (!left_out[i]) order.push_back(order_[i]);
    }
    return order;
  }

  const StepSchedule& schedule_;
  uint64_t limit_;
  std::vector<uint32_t> order_;
  std::vector<bool> is_again_;
  std::vector<uint32_t> next_original_;
  std::vector<uint32_t> exceeding_;                         // positions in front of each that exceed the limit
  std::map<std::pair<uint32_t, uint32_t>, int> times_cut_;  // by value and the step in front of which
};

}  // namespace

uint64_t least_bytes(const StepSchedule& schedule) {
  uint64_t least = 0;
  for (const ScheduledStep& step : schedule.steps) {
    uint64_t bytes = 0;
    for (const uint32_t value : step.reads) bytes += schedule.values[value].bytes;
    for (const uint32_t value : step.writes) {
      if (schedule.may_overwrite[value].empty()) bytes += schedule.values[value].bytes;
    }
    least = std::max(least, bytes);
  }
  return least;
}

Recomputation recompute_within(const StepSchedule& schedule, uint64_t bytes) {
  return Recomputer(schedule, bytes).run();
}

}  // namespace coterie
