#include "fl_server/fleet/fleet_member.h"

#include <set>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/runtime/device_plane.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"

namespace coterie {
namespace {

constexpr uint64_t kPlanBytesMax = limits::kWireHeaderBytesMax + 128;

// A share of nothing is not a reason to tell the plane of a round that it does not know, but of any other change it is.
bool is_same_round(const PostedRound& a, const PostedRound& b, const std::string& incarnation) {
  const auto share = [&](const PostedRound& round) {
    const auto found = round.shares.find(incarnation);
    return found == round.shares.end() ? 0u : found->second;
  };
  return a.state == b.state && share(a) == share(b) && a.assignment == b.assignment && a.goal_count == b.goal_count;
}

}  // namespace

FleetMember::FleetMember(FleetSettings settings, FleetIdentity identity, FleetStore& store, BlobStore& blobs,
                         std::function<NodeLoad(uint64_t)> load)
    : settings_(settings), identity_(std::move(identity)), store_(store), blobs_(blobs), load_(std::move(load)) {
  report_.node = identity_.node;
  report_.incarnation = identity_.incarnation;
  report_.url = identity_.url;
  report_.serves = identity_.serves;
}

// ---- Life

void FleetMember::start(WallTime started, DevicePlane* plane) {
  started_ = started;
  plane_ = plane;
  is_started_ = true;
  tick_at_ = os::monotonic_now();
  loop_.start([this] { tick(); }, [this]() -> std::optional<Instant> { return tick_at_; });
}

void FleetMember::refresh(std::function<void()> done) {
  loop_.post([this, done = std::move(done)] {
    (void)read_board();  // in vain: whoever asked finds out
    done();
  });
}

void FleetMember::drain() {
  note([this] {
    report_.draining = true;
    (void)say();
  });
}

void FleetMember::stop() {
  if (!std::exchange(is_started_, false)) return;
  loop_.stop();
  if (const Status left = store_.leave(identity_.node, identity_.incarnation); !left) {
    log(LogLevel::warning, "fleet_not_left", {{"reason", left.error().message()}});
  }
}

std::string FleetMember::owner_url() const {
  const std::lock_guard lock(mutex_);
  return owner_url_;
}

bool FleetMember::is_in_touch() const {
  const std::lock_guard lock(mutex_);
  return in_touch_at_ + settings_.silence_max > os::monotonic_now();
}

// ---- What the node says

void FleetMember::note(const std::function<void()>& change) { loop_.post(change); }

void FleetMember::pool_changed(const Population& population, uint64_t waiting) {
  note([this, population, waiting] { report_.waiting[population] = waiting; });
}

void FleetMember::devices_steered(const Population& population, uint64_t count) {
  note([this, population, count] { report_.steered[population] = count; });
}

void FleetMember::tickets_issued(const RoundKey& key, uint32_t total) {
  note([this, key, total] { report_.issued[key] = total; });
}

void FleetMember::tickets_lacking(const RoundKey& key, uint64_t devices) {
  note([this, key, devices] { report_.lacking[key] = devices; });
}

void FleetMember::updates_accepted(const RoundKey& key, uint64_t total) {
  note([this, key, total] { report_.accepted[key] = total; });
}

Status FleetMember::say() {
  uint64_t waiting = 0;
  for (const auto& [population, count] : report_.waiting) waiting += count;
  report_.load = load_(waiting);
  const Status said = store_.say(
      {.node = identity_.node, .incarnation = identity_.incarnation, .started = started_, .report = to_text(report_)},
      identity_.former, settings_.silence_max);
  if (!said) return said;
  said_ = report_;
  said_at_ = os::monotonic_now();
  return {};
}

// ---- What the board says

void FleetMember::tick() {
  const Instant now = os::monotonic_now();
  if (now < tick_at_) return;
  tick_at_ = now + settings_.poll_every;
  const Status read = read_board();
  if (plane_ != nullptr) plane_->count_lacking();  // said at the next tick
  NodeReport quiet = report_;
  quiet.load = said_.load;        // changes all the time, and waits for its turn
  quiet.steered = said_.steered;  // so does this
  if (read && (quiet != said_ || now >= said_at_ + settings_.say_every)) {
    if (const Status said = say(); !said)
      log(LogLevel::warning, "fleet_not_told", {{"reason", said.error().message()}});
  }
}

Status FleetMember::read_board() {
  const auto read = [&]() -> Status {
    COT_ASSIGN(const std::optional<FleetBoard> board, store_.read_board(revision_));
    {
      const std::lock_guard lock(mutex_);
      in_touch_at_ = os::monotonic_now();
    }
    if (!board) return {};
    COT_ASSIGN(const PostedBoard posted, board_from_text(board->text));
    COT_TRY(apply(posted));
    revision_ = board->revision;
    return {};
  };
  const Status done = read();
  if (!done && !board_was_bad_) log(LogLevel::warning, "fleet_board_not_read", {{"reason", done.error().message()}});
  if (done && board_was_bad_) log(LogLevel::info, "fleet_board_read_again");
  board_was_bad_ = !done;
  return done;
}

Status FleetMember::apply(const PostedBoard& board) {
  {
    const std::lock_guard lock(mutex_);
    owner_url_ = board.owner_url;
  }
  if (plane_ == nullptr) return {};
  plane_->fleet_knows(board.steered, board.nodes);
  std::map<RoundKey, PostedRound> posted;
  for (const PostedRound& round : board.rounds) posted.emplace(round.key, round);
  for (auto known = applied_.begin(); known != applied_.end();) {
    if (posted.contains(known->first)) {
      ++known;
      continue;
    }
    plane_->withdraw(known->first);
    report_.issued.erase(known->first);
    report_.lacking.erase(known->first);
    report_.accepted.erase(known->first);
    known = applied_.erase(known);
  }
  for (const auto& [key, round] : posted) {
    const auto known = applied_.find(key);
    if (known != applied_.end() && is_same_round(known->second, round, identity_.incarnation)) {
      if (round.updates_due && round.updates_due != known->second.updates_due)
        plane_->updates_due(key, *round.updates_due);
      known->second = round;
      continue;
    }
    COT_ASSIGN(const ServedRound served, served_round(round));
    plane_->serve(served);
    if (round.updates_due) plane_->updates_due(key, *round.updates_due);
    applied_.insert_or_assign(key, round);
  }
  std::set<Digest> in_use;
  for (const auto& [key, round] : applied_) {
    if (const auto assignment = decode_assignment(round.assignment)) in_use.insert(assignment->plan);
  }
  std::erase_if(plans_, [&](const auto& plan) { return !in_use.contains(plan.first); });
  return {};
}

// What a device would learn from its assignment and the plan that it names.
Result<ServedRound> FleetMember::served_round(const PostedRound& posted) {
  COT_ASSIGN(Assignment assignment, decode_assignment(posted.assignment));
  assignment.ticket.clear();
  if (assignment.round != posted.key || assignment.job != posted.job) {
    return Error(ErrorCode::data_loss, "fleet: the board has a round with the assignment of another");
  }
  auto plan = plans_.find(assignment.plan);
  if (plan == plans_.end()) {
    COT_ASSIGN(const Bytes bytes, blobs_.get(assignment.plan, kPlanBytesMax));
    COT_ASSIGN(Plan decoded, decode_plan(bytes));
    plan = plans_.emplace(assignment.plan, std::move(decoded)).first;
  }
  const auto share = posted.shares.find(identity_.incarnation);
  const RoundView view{.job = posted.job,
                       .population = posted.population,
                       .key = posted.key,
                       .number = posted.number,
                       .state = posted.state,
                       .model_version = assignment.model_version,
                       .model = assignment.model,
                       .model_bytes = assignment.model_bytes,
                       .plan = assignment.plan,
                       .plan_bytes = assignment.plan_bytes,
                       .update = plan->second.update,
                       .privacy = plan->second.privacy,
                       .weight = posted.weight,
                       .ticket_count = share == posted.shares.end() ? 0 : share->second,
                       .goal_count = posted.goal_count,
                       .deadline = Instant::max()};  // the scheduler's business
  return ServedRound{view, std::move(assignment)};
}

}  // namespace coterie
