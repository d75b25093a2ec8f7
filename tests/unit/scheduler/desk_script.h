// A check-in desk for tests: its devices, its rounds, and its effects as text.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "scheduler/selection/checkin_desk.h"
#include "scheduler/selection/told_gates.h"

namespace coterie::desk_script {

inline const Population kPhones("phones");
inline const Population kTablets("tablets");
inline constexpr Millis kHold{10'000};

inline DeviceId device(uint64_t index) {
  DeviceId id;
  id.bytes[0] = static_cast<uint8_t>(index * 37);  // device ids are digests: the first bytes differ
  id.bytes[14] = static_cast<uint8_t>(index >> 8);
  id.bytes[15] = static_cast<uint8_t>(index);
  return id;
}

inline RoundNotice notice(RoundState state, uint32_t tickets, Population population = kPhones, uint64_t round = 1,
                          const std::string& job = "j") {
  RoundNotice notice;
  notice.job = JobId(job);
  notice.population = std::move(population);
  notice.key = {RoundId(round), Attempt(1)};
  notice.state = state;
  notice.ticket_count = tickets;
  return notice;
}

// A desk, its effects as text: "ticket 3" for waiter 3, "dismiss 4: reason", "pool phones 2", "tickets 1.1 2".
// What is told of gates is no line: gates() has it.
class Desk {
 public:
  explicit Desk(uint64_t seed = 1, DeskLimits limits = {}, bool draws_by_device = false)
      : desk_(limits, {}, seed, draws_by_device) {}

  using Lines = std::vector<std::string>;
  Lines check_in(uint64_t waiter, uint64_t who, const Population& population = kPhones, Millis hold = kHold) {
    return text(desk_.check_in(WaiterId(waiter), device(who), population, hold, now_));
  }
  // By a device that knows so much of plans.
  Lines check_in_knowing(PlanFeatures known, uint64_t waiter, uint64_t who, Millis hold = kHold) {
    return text(desk_.check_in(WaiterId(waiter), device(who), kPhones, hold, now_, {}, known));
  }
  // With an update of version `version` of `job`.
  Lines join(uint64_t waiter, uint64_t who, uint64_t version, const std::string& job = "j", Millis hold = kHold,
             const RoundKey& left = {}) {
    return text(desk_.check_in(WaiterId(waiter), device(who), kPhones, hold, now_,
                               HeldUpdate{JobId(job), ModelVersion(version), Digest(), left}));
  }
  Lines cancel(uint64_t waiter) { return text(desk_.cancel(WaiterId(waiter))); }
  Lines undelivered(uint64_t who, uint64_t round = 1) {
    return text(desk_.undelivered({RoundId(round), Attempt(1)}, device(who)));
  }
  void accepted(uint64_t who, uint64_t round = 1, const TrainedReport& report = {}) {
    desk_.accepted({RoundId(round), Attempt(1)}, device(who), report);
  }
  Lines publish(const RoundNotice& round, const std::vector<DeviceId>& accepted = {},
                const std::vector<DeviceId>& resting = {}) {
    return text(desk_.publish(round, accepted, resting));
  }
  Lines withdraw(uint64_t round = 1) { return text(desk_.withdraw({RoundId(round), Attempt(1)})); }
  Lines at(int64_t ms) {
    now_ = Instant(Millis(ms));
    return text(desk_.time_passed(now_));
  }
  // What was told last of a round, as "3 asked: ticket 1, not_drawn 2"; of the gates in their order.
  std::string gates(uint64_t round = 1) const {
    const auto told = told_.find({RoundId(round), Attempt(1)});
    if (told == told_.end()) return "nothing";
    std::string text = std::to_string(told->second.asked) + " asked";
    for (const auto& [code, devices] : told->second.devices) {
      text += (text.ends_with("asked") ? ": " : ", ") + name_of(code) + " " + std::to_string(devices);
    }
    return text;
  }
  CheckinDesk& desk() { return desk_; }
  const CheckinDesk& desk() const { return desk_; }

 private:
  Lines text(const DeskEffects& effects) {
    Lines lines;
    for (const DeskEffect& effect : effects) {
      if (const auto* ticket = std::get_if<GiveTicket>(&effect)) {
        const char* what = ticket->held ? "join " : "ticket ";
        lines.push_back(what + std::to_string(ticket->waiter.value()));
      } else if (const auto* late = std::get_if<GiveHeldUp>(&effect)) {
        lines.push_back("too late " + std::to_string(late->held.version.value()));
      } else if (const auto* dismissed = std::get_if<Dismiss>(&effect)) {
        lines.push_back("dismiss " + std::to_string(dismissed->waiter.value()) + ": " + dismissed->window.reason);
      } else if (const auto* pool = std::get_if<ReportPool>(&effect)) {
        lines.push_back("pool " + pool->population.value() + " " + std::to_string(pool->waiting));
      } else if (const auto* issued = std::get_if<ReportTickets>(&effect)) {
        lines.push_back("tickets " + std::to_string(issued->key.round.value()) + "." +
                        std::to_string(issued->key.attempt.value()) + " " + std::to_string(issued->total));
      } else {
        const ToldGates& told = *std::get<TellGates>(effect).told;
        told_[told.key] = told;
      }
    }
    return lines;
  }

  CheckinDesk desk_;
  Instant now_{};
  std::map<RoundKey, ToldGates> told_;
};

inline std::set<std::string> tickets_in(const Desk::Lines& lines) {
  std::set<std::string> tickets;
  for (const std::string& line : lines) {
    if (line.starts_with("ticket ")) tickets.insert(line.substr(7));
  }
  return tickets;
}

}  // namespace coterie::desk_script
