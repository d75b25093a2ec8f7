#include "tools/simulate/virtual_buffers.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "scheduler/round/round_policy.h"
#include "tools/simulate/virtual_chance.h"

namespace coterie {
namespace {

uint32_t tickets_of(const HorizontalSettings& job, uint64_t number, uint32_t extensions) {
  return RoundPolicy(job).ticket_count({.round_number = number, .attempt = 1, .extensions = extensions});
}

// Behind masks the roster is what closes.
uint32_t full_count(const HorizontalSettings& job) {
  return job.privacy.level == SecurityLevel::none ? job.rounds.goal_count : adverts_goal(job);
}

}  // namespace

void VirtualBuffers::begin() {
  ++number_;
  opened_ = now_;
  deadline_ = opened_ + std::chrono::duration<double>(job_.rounds.collecting_max).count();
  extensions_ = draws_ = tickets_given_ = 0;
  for (const uint32_t device : std::exchange(returned_, {})) busy_.erase(device);
  while (resting_.size() >= std::max(1u, job_.rounds.separation_min)) {
    for (const uint32_t device : resting_.back()) busy_.erase(device);
    resting_.pop_back();
  }
  resting_.emplace_front();
}

void VirtualBuffers::hand_out(VirtualRound& round) {
  const uint32_t left = tickets_of(job_, number_, extensions_) - tickets_given_;
  const auto free = fleet_.devices - static_cast<uint32_t>(busy_.size());
  const uint32_t count = std::min(left, free);
  if (count == 0) return;
  ++draws_;
  Prng chance = chance_of(fleet_.seed, ChanceOf::draw, number_, draws_);
  Prng losses = chance_of(fleet_.seed, ChanceOf::loss, number_, draws_);
  for (const uint32_t device : among_others(draw_numbers(count, free, chance), busy_)) {
    const bool is_lost = losses.chance(fleet_.dropout);  // drawn for each, so that a trace moves nobody else
    AtWork work{now_ + training_seconds(fleet_, job_, device), device, version(),
                is_lost || fleet_.trace.drops(device, number_)};
    if (work.is_lost) ++round.lost;
    at_work_.insert(work);
    busy_.insert(device);
    round.asked.push_back(device);
  }
  tickets_given_ += count;
}

void VirtualBuffers::take_first(VirtualRound& round) {
  const AtWork work = *at_work_.begin();
  at_work_.erase(at_work_.begin());
  now_ = work.done;
  if (work.is_lost) {
    if (work.version == version()) returned_.push_back(work.device);
    else busy_.erase(work.device);
    return;
  }
  const uint64_t late = version() - work.version;
  if (late > job_.rounds.staleness_max) {
    busy_.erase(work.device);
    ++round.too_late;
    return;
  }
  round.counted.push_back(work.device);
  round.versions.push_back(work.version);
  if (late > 0) ++round.joined;
}

// However long a thin buffer waits, no more tickets come than RoundPolicy's most: then it waits for whoever is next.
bool VirtualBuffers::extend(VirtualRound& round) {
  const double step = std::chrono::duration<double>(job_.rounds.collecting_max).count();
  now_ = std::max(now_, deadline_);
  deadline_ = now_ + step;
  if (tickets_of(job_, number_, extensions_ + 1) > tickets_of(job_, number_, extensions_)) {
    ++extensions_;
    hand_out(round);
  } else if (!at_work_.empty() && at_work_.begin()->done > deadline_) {
    const double first = at_work_.begin()->done;
    deadline_ = std::max(first, now_ + step * std::ceil((first - now_) / step));
  }
  return !at_work_.empty();
}

void VirtualBuffers::close(VirtualRound& round, double when) {
  now_ = when;
  round.seconds = now_ - opened_;
  std::sort(round.asked.begin(), round.asked.end());
  round.drawn = round.asked.size();
  totals_.too_late += round.too_late;
  if (round.is_failed) {
    round.late = round.counted.size();
    round.counted.clear();
    round.versions.clear();
    round.joined = 0;
    return;
  }
  resting_.front() = round.counted;
  std::vector<std::pair<uint32_t, uint64_t>> order;
  for (size_t i = 0; i < round.counted.size(); ++i) order.emplace_back(round.counted[i], round.versions[i]);
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) std::tie(round.counted[i], round.versions[i]) = order[i];
  totals_.counted += round.counted.size();
  totals_.joined += round.joined;
  for (const uint64_t from : round.versions) {
    totals_.versions_late += version() - from;
    totals_.staleness_max = std::max(totals_.staleness_max, version() - from);
  }
}

VirtualRound VirtualBuffers::next() {
  begin();
  VirtualRound round;
  round.is_buffered = true;
  while (true) {
    hand_out(round);
    const double first = at_work_.empty() ? std::numeric_limits<double>::infinity() : at_work_.begin()->done;
    if (first <= deadline_) {
      take_first(round);
      if (round.counted.size() < full_count(job_)) continue;
      close(round, now_);
      return round;
    }
    if (!round.counted.empty() && round.counted.size() >= job_.rounds.goal_count_min) {
      close(round, deadline_);
      return round;
    }
    if (extend(round)) continue;
    round.is_failed = true;
    close(round, deadline_);
    return round;
  }
}

std::vector<uint64_t> VirtualBuffers::versions_at_work() const {
  std::set<uint64_t> versions;
  for (const AtWork& work : at_work_) {
    // The next round begins with version number_.
    if (!work.is_lost && number_ - work.version <= job_.rounds.staleness_max) versions.insert(work.version);
  }
  return {versions.begin(), versions.end()};
}

BufferedTotals VirtualBuffers::totals() const {
  BufferedTotals totals = totals_;
  totals.at_work = static_cast<uint64_t>(std::ranges::count_if(at_work_, [](const AtWork& w) { return !w.is_lost; }));
  return totals;
}

}  // namespace coterie
