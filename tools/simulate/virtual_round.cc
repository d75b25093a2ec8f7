#include "tools/simulate/virtual_round.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tools/simulate/virtual_chance.h"

namespace coterie {
namespace {

uint32_t waiting_of(const VirtualFleet& fleet, const std::vector<uint32_t>& resting) {
  return fleet.devices - static_cast<uint32_t>(resting.size());
}

// As the desk draws with all devices waiting: among those that do not rest, in random order, by what is known of each.
// The first round trains version 0.
std::vector<uint32_t> choose(const SelectionSettings& selection, uint32_t tickets, const VirtualFleet& fleet,
                             uint64_t round, uint32_t attempt, const ReportOf& report_of,
                             const std::vector<uint32_t>& resting) {
  Prng chance = chance_of(fleet.seed, ChanceOf::draw, round, attempt);
  const uint32_t waiting = waiting_of(fleet, resting);
  if (selection.is_uniform() || tickets >= waiting) {
    return among_others(draw_numbers(tickets, waiting, chance), resting);
  }
  std::vector<uint32_t> order(waiting);
  std::iota(order.begin(), order.end(), 0u);
  order = among_others(std::move(order), resting);
  chance_of(fleet.seed, ChanceOf::order, round, attempt).shuffle(order);
  std::vector<const TrainedReport*> reports;
  for (const uint32_t device : order) reports.push_back(report_of ? report_of(device) : nullptr);
  std::vector<uint32_t> devices = selection.choose(reports, tickets, round - 1, chance);
  for (uint32_t& device : devices) device = order[device];
  std::sort(devices.begin(), devices.end());
  return devices;
}

}  // namespace

double training_seconds(const VirtualFleet& fleet, const HorizontalSettings& job, uint32_t device) {
  const double work = static_cast<double>(fleet.examples_of(device)) * job.training.local_epochs * kExampleSeconds;
  if (fleet.speed_spread <= 0) return work;
  return work * std::exp(fleet.speed_spread * chance_of(fleet.seed, ChanceOf::speed, device).normal());
}

VirtualRound draw_round(const VirtualFleet& fleet, const HorizontalSettings& job, uint64_t round, uint32_t attempt,
                        const ReportOf& report_of, const std::vector<uint32_t>& resting) {
  const RoundSettings& rules = job.rounds;
  const uint32_t tickets = std::min(rules.ticket_count(), waiting_of(fleet, resting));
  VirtualRound result;
  result.asked = choose(rules.selection, tickets, fleet, round, attempt, report_of, resting);
  result.drawn = result.asked.size();
  Prng losses = chance_of(fleet.seed, ChanceOf::loss, round, attempt);
  std::vector<std::pair<double, uint32_t>> arrivals;
  for (const uint32_t device : result.asked) {
    const bool is_lost = losses.chance(fleet.dropout);  // drawn for each, so that a trace moves nobody else
    if (is_lost || fleet.trace.drops(device, round)) ++result.lost;
    else arrivals.emplace_back(training_seconds(fleet, job, device), device);
  }
  std::sort(arrivals.begin(), arrivals.end());
  const double deadline = std::chrono::duration<double>(rules.collecting_max).count();
  result.seconds = deadline;
  if (arrivals.size() < rules.goal_count_min) {
    result.is_failed = true;
    result.late = arrivals.size();
    return result;
  }
  for (const auto& [seconds, device] : arrivals) {
    const bool is_in_time = seconds <= deadline || result.counted.size() < rules.goal_count_min;
    if (!is_in_time) ++result.late;
    else if (result.counted.size() >= rules.goal_count) ++result.surplus;
    else {
      result.counted.push_back(device);
      // A round that lacks an update that was lost waits for it to the deadline.
      result.seconds = result.counted.size() == rules.goal_count ? seconds : std::max(deadline, seconds);
    }
  }
  std::sort(result.counted.begin(), result.counted.end());
  return result;
}

VirtualRound draw_attempts(const VirtualFleet& fleet, const HorizontalSettings& job, uint64_t round,
                           const std::vector<uint32_t>& resting) {
  uint32_t attempt = 1;
  VirtualRound drawn = draw_round(fleet, job, round, attempt, {}, resting);
  while (drawn.is_failed && attempt < job.rounds.attempts_max) {
    drawn = draw_round(fleet, job, round, ++attempt, {}, resting);
  }
  return drawn;
}

}  // namespace coterie
