// Any order of devices, rounds, losses and times that a node may bring its waiting room: its invariants hold after each
// step, each check-in has one answer at most, tickets go to rounds that want their devices, no round gives more than it
// has, the codes of a round's devices sum to those that asked, and behind the end nobody waits.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "scheduler/selection/checkin_desk.h"
#include "scheduler/selection/selection_registry.h"
#include "scheduler/selection/told_gates.h"
#include "tests/fuzz/event_bytes.h"

namespace {

using namespace coterie;

DeviceId device_of(uint32_t index) {
  DeviceId device;
  device.bytes[0] = static_cast<uint8_t>(index);
  return device;
}

class Driver {
 public:
  explicit Driver(test::EventBytes bytes)
      : bytes_(bytes), desk_({.waiters_max = 6, .hold_max = Millis(2'000)}, {}, bytes_.next(), bytes_.one_in(2)) {}

  void run() {
    while (!bytes_.is_over()) choose();
    take(desk_.dismiss_all(now_));
    COT_ASSERT(waiting_.empty());
    // What is left are accounts of rounds that have something to tell, once.
    for (size_t told = 0; const auto deadline = desk_.next_deadline(); ++told) {
      COT_ASSERT(told <= kToldMax);
      now_ = std::max(now_, *deadline);
      take(desk_.time_passed(now_));
    }
    for (const auto& [population, reported] : pools_) {
      COT_ASSERT(reported == 0 && desk_.waiting(population) == 0);
    }
  }

 private:
  struct Waiter {
    DeviceId device;
    Population population;
    PlanFeatures known;
    Instant until;
  };
  struct Round {
    RoundNotice notice;
    std::set<DeviceId> resting;
    std::set<DeviceId> holders, counted;
  };

  void choose() {
    switch (bytes_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: return check_in();
      case 4: return publish();
      case 5: return withdraw();
      case 6: return cancel();
      case 7: return lose_a_ticket();
      case 8: return count_a_ticket();
      case 9: return desk_.fleet_knows({{some_population(), bytes_.next() * uint64_t{50}}}, bytes_.below(4));
      case 10: return look_at_what_is_lacking();
      default: return pass(Millis(int64_t{bytes_.next()} * 10));
    }
  }

  Population some_population() { return Population(bytes_.one_in(4) ? "q" : "p"); }

  // ---- Devices

  void check_in() {
    const WaiterId waiter(++last_waiter_);
    const Millis hold(int64_t{bytes_.next()} * 20);
    const Waiter who{device_of(bytes_.below(10)), some_population(), bytes_.one_in(6) ? 0 : kKnownFeatures,
                     now_ + hold};
    std::optional<HeldUpdate> held;
    if (bytes_.one_in(5)) {
      held = HeldUpdate{some_job(), ModelVersion(1 + bytes_.below(4)), {}, {RoundId(bytes_.below(4)), Attempt(1)}};
    }
    waiting_.emplace(waiter, who);
    take(desk_.check_in(waiter, who.device, who.population, hold, now_, held, who.known));
  }

  // It is gone, or was before and its end is heard of now.
  void cancel() {
    if (last_waiter_ == 0) return;
    const WaiterId waiter(1 + bytes_.below(std::min<uint64_t>(last_waiter_, 256)));
    waiting_.erase(waiter);
    take(desk_.cancel(waiter));
  }

  void pass(Millis time) {
    now_ += time;
    take(desk_.time_passed(now_));
    for (const auto& [id, waiter] : waiting_) COT_ASSERT(waiter.until > now_);
    if (!waiting_.empty()) COT_ASSERT(desk_.next_deadline() > now_);
  }

  // ---- Rounds

  JobId some_job() { return JobId(bytes_.one_in(3) ? "k" : "j"); }

  void publish() {
    RoundNotice notice;
    notice.job = some_job();
    notice.population = Population(notice.job == JobId("j") ? "p" : "q");
    if (bytes_.one_in(4)) notice.population = Population("p");
    // Rounds of both jobs have keys of their own; who rests follows from the key.
    const uint64_t number = 2 * (1 + bytes_.below(4)) + (notice.job == JobId("j") ? 0 : 1);
    notice.key = {RoundId(number), Attempt(1 + bytes_.below(2))};
    notice.state = bytes_.one_in(3) ? RoundState::selecting : RoundState::collecting;
    notice.ticket_count = bytes_.below(6);
    notice.weight = bytes_.below(3);
    notice.extensions = bytes_.below(2);
    notice.assignment.model_version = ModelVersion(number / 2);
    notice.plan.staleness.versions_max = bytes_.below(3);
    const auto rules = selection_rules();
    notice.selection = SelectionSettings::of(rules[bytes_.below(rules.size())]->name);
    if (number % 3 == 0) notice.plan.update.encoding = UpdateEncoding::top_k;
    std::erase_if(
        rounds_, [&](const auto& entry) { return entry.second.notice.job == notice.job && entry.first != notice.key; });
    Round& round = rounds_[notice.key];
    if (!round.holders.empty() || !round.counted.empty()) notice.population = round.notice.population;
    round.notice = notice;
    round.resting = {device_of(static_cast<uint32_t>(number % 10))};
    const std::vector<DeviceId> counted(round.counted.begin(), round.counted.end());
    const std::vector<DeviceId> resting(round.resting.begin(), round.resting.end());
    take(desk_.publish(notice, counted, resting));
  }

  void withdraw() {
    if (rounds_.empty()) return;
    const RoundKey key = some_round().first;
    rounds_.erase(key);
    take(desk_.withdraw(key));
  }

  std::pair<const RoundKey, Round>& some_round() {
    auto round = rounds_.begin();
    std::advance(round, bytes_.below(rounds_.size()));
    return *round;
  }

  void lose_a_ticket() {
    if (rounds_.empty()) return;
    auto& [key, round] = some_round();
    const DeviceId device = device_of(bytes_.below(10));
    round.holders.erase(device);
    take(desk_.undelivered(key, device));
  }

  void count_a_ticket() {
    if (rounds_.empty()) return;
    auto& [key, round] = some_round();
    if (round.holders.empty()) return;
    const DeviceId device = *round.holders.begin();
    round.holders.erase(device);
    round.counted.insert(device);
    const TrainedReport report{.loss_level = static_cast<uint8_t>(bytes_.below(kReportLevels))};
    desk_.accepted(key, device, report);
    if (bytes_.one_in(3)) desk_.accepted(key, device, report);  // it is said again
    desk_.check();
  }

  void look_at_what_is_lacking() {
    for (const auto& [key, devices] : desk_.lacking()) {
      COT_ASSERT(rounds_.contains(key) && devices <= waiting_.size());
    }
    (void)desk_.steered_here(now_);
  }

  // ---- What the desk does

  void take(const DeskEffects& effects) {
    desk_.check();
    for (const DeskEffect& effect : effects) std::visit([this](const auto& e) { perform(e); }, effect);
    for (const auto& [population, reported] : pools_) COT_ASSERT(reported == desk_.waiting(population));
  }

  void perform(const GiveTicket& e) {
    const auto waiter = waiting_.extract(e.waiter);
    COT_ASSERT(!waiter.empty() && waiter.mapped().device == e.device);
    Round& round = must_find(rounds_, e.key, "a ticket is of a round that is published");
    const RoundNotice& notice = round.notice;
    COT_ASSERT(notice.state == RoundState::collecting && notice.population == waiter.mapped().population);
    COT_ASSERT(!round.counted.contains(e.device) && !round.resting.contains(e.device));
    COT_ASSERT((features_of(notice.plan) & ~waiter.mapped().known) == 0);
    if (!e.held) round.holders.insert(e.device);
  }
  void perform(const GiveHeldUp&) {}
  void perform(const Dismiss& e) {
    COT_ASSERT(waiting_.erase(e.waiter) == 1);
    COT_ASSERT(e.window.max_ms >= e.window.min_ms && !e.window.reason.empty());
  }
  void perform(const ReportPool& e) { pools_[e.population] = e.waiting; }
  void perform(const ReportTickets& e) {
    const Round& round = must_find(rounds_, e.key, "tickets are told of a round that is published");
    COT_ASSERT(e.total >= round.holders.size());
    most_[e.key] = std::max(most_[e.key], round.notice.ticket_count);
    COT_ASSERT(e.total <= most_[e.key]);
  }

  void perform(const TellGates& e) {
    uint64_t sum = 0;
    for (const auto& [code, devices] : e.told->devices) {
      COT_ASSERT(devices > 0);
      sum += devices;
    }
    COT_ASSERT(sum == e.told->asked);
  }

  static constexpr size_t kToldMax = 100;  // more than rounds that can be published here

  test::EventBytes bytes_;
  CheckinDesk desk_;
  Instant now_{};
  uint64_t last_waiter_ = 0;
  std::map<WaiterId, Waiter> waiting_;
  std::map<RoundKey, Round> rounds_;
  std::map<RoundKey, uint32_t> most_;  // tickets that a round ever had
  std::map<Population, uint64_t> pools_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= 4'096) Driver(test::EventBytes(data, size)).run();
  return 0;
}
