#include "fl_server/fleet/fleet_lead.h"

#include <algorithm>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/runtime/round_scheduler.h"
#include "proto/codec/codec.h"

namespace coterie {
namespace {

constexpr Millis kSettle{1'000};
constexpr Millis kLookEvery{1'000};
constexpr Millis kForgetEvery{60'000};
constexpr Millis kForgetAfter{3'600'000};

}  // namespace

FleetLead::FleetLead(FleetSettings settings, FleetStore& store, std::string owner_url)
    : settings_(settings), store_(store), tally_(settings.silence_max) {
  board_.owner_url = std::move(owner_url);
}

void FleetLead::start(std::string lease, LeaseEpoch epoch, RoundScheduler& scheduler) {
  lease_ = std::move(lease);
  epoch_ = epoch;
  scheduler_ = &scheduler;
  const Instant now = os::monotonic_now();
  tick_at_ = now;
  write_from_ = now + kSettle;
  look_at_ = now + kLookEvery;
  forget_at_ = now + kForgetEvery;
  loop_.start([this] { tick(); }, [this]() -> std::optional<Instant> { return tick_at_; });
}

// ---- From the scheduler

void FleetLead::serve(const ServedRound& served) {
  loop_.post([this, served] {
    const RoundView& view = served.view;
    Assignment assignment = served.assignment;
    assignment.ticket = {0};  // an assignment without a ticket is none; a node puts in each device's own
    PostedRound round{.job = view.job,
                      .population = view.population,
                      .key = view.key,
                      .number = view.number,
                      .state = view.state,
                      .weight = view.weight,
                      .goal_count = view.goal_count,
                      .assignment = encode(assignment),
                      .shares = {}};
    for (const PostedRound& known : board_.rounds) {
      if (known.key == view.key) round.updates_due = known.updates_due;
      else if (known.job == view.job) tally_.withdraw(known.key);
    }
    std::erase_if(board_.rounds, [&](const PostedRound& known) { return known.job == view.job; });
    board_.rounds.push_back(std::move(round));
    tally_.serve(view.key, view.population, view.state == RoundState::collecting ? view.ticket_count : 0);
    write();
  });
}

void FleetLead::withdraw(const RoundKey& key) {
  loop_.post([this, key] {
    tally_.withdraw(key);
    told_issued_.erase(key);
    told_accepted_.erase(key);
    if (std::erase_if(board_.rounds, [&](const PostedRound& known) { return known.key == key; }) > 0) write();
  });
}

void FleetLead::updates_due(const RoundKey& key, uint64_t total) {
  loop_.post([this, key, total] {
    for (PostedRound& round : board_.rounds) {
      if (round.key == key) round.updates_due = total;
    }
    write();
  });
}

// ---- From the nodes

void FleetLead::tick() {
  const Instant now = os::monotonic_now();
  if (now < tick_at_) return;
  tick_at_ = now + settings_.poll_every;
  const Status heard = hear();
  if (!heard && !is_deaf_) log(LogLevel::warning, "fleet_not_heard", {{"reason", heard.error().message()}});
  is_deaf_ = !heard;
  if (heard) tell_scheduler();
  write();
}

Status FleetLead::hear() {
  COT_ASSIGN(const std::vector<FleetNodeRow> rows, store_.nodes());
  std::vector<NodeRow> nodes;
  for (const FleetNodeRow& row : rows) {
    Result<NodeReport> report = node_report_from_text(row.report);
    if (!report) {
      log(LogLevel::warning, "fleet_node_not_understood", {{"node", row.node}, {"reason", report.error().message()}});
      continue;
    }
    report->node = row.node;
    report->incarnation = row.incarnation;
    nodes.push_back({std::move(*report), row.started, row.age});
  }
  tally_.hear(nodes);
  const Instant now = os::monotonic_now();
  if (now >= forget_at_) {
    forget_at_ = now + kForgetEvery;
    COT_TRY(store_.forget_nodes(kForgetAfter));
  }
  return {};
}

void FleetLead::tell_scheduler() {
  if (tally_.nodes() != told_nodes_) scheduler_->nodes_changed(told_nodes_ = tally_.nodes());
  std::map<Population, uint64_t> waiting = tally_.waiting();
  for (const auto& [population, count] : told_waiting_) waiting.try_emplace(population, 0);  // its node is gone
  for (const auto& [population, count] : waiting) {
    const auto told = told_waiting_.find(population);
    if (told == told_waiting_.end() || told->second != count) scheduler_->pool_changed(population, count);
  }
  told_waiting_ = std::move(waiting);
  const Instant now = os::monotonic_now();
  const bool look = now >= look_at_;
  if (look) look_at_ = now + kLookEvery;
  for (const PostedRound& round : board_.rounds) {
    const uint32_t issued = tally_.issued(round.key);
    const uint64_t accepted = tally_.accepted(round.key);
    if (std::exchange(told_issued_[round.key], issued) != issued) scheduler_->tickets_issued(round.key, issued);
    const bool has_more = std::exchange(told_accepted_[round.key], accepted) != accepted;
    if (has_more) scheduler_->updates_accepted(round.key, accepted);
    // Of a node that died before it could say so, the rows know more.
    if (has_more || look) scheduler_->look_at_accepted(round.key);
  }
}

void FleetLead::write() {
  if (os::monotonic_now() < write_from_) return;
  for (PostedRound& round : board_.rounds) round.shares = tally_.shares(round.key);
  board_.nodes = tally_.nodes();
  board_.steered = tally_.steered();
  std::string text = to_text(board_);
  if (text == written_) return;
  const Result<uint64_t> revision = store_.write_board(lease_, epoch_, text);
  if (revision) {
    written_ = std::move(text);
    return;
  }
  log(LogLevel::warning, "fleet_board_not_written",
      {{"reason", revision.error().message()}});  // again at the next tick
}

}  // namespace coterie
