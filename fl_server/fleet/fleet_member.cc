#include "fl_server/fleet/fleet_member.h"

#include <utility>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/fleet/fleet_text.h"
#include "fl_server/runtime/device_plane.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"

namespace coterie {
namespace {

constexpr size_t kPlansMax = 64;  // that are kept, of boards without

}  // namespace

FleetMember::FleetMember(FleetSettings settings, FleetIdentity identity, FleetStore& store, BlobStore& blobs,
                         std::function<NodeLoad(uint64_t)> load)
    : settings_(settings), identity_(std::move(identity)), store_(store), blobs_(blobs), load_(std::move(load)) {}

// ---- Life

void FleetMember::start(WallTime started, DevicePlane* plane) {
  started_ = started;
  plane_ = plane;
  is_started_ = true;
  NodeReport self;
  self.node = identity_.node;
  self.incarnation = identity_.incarnation;
  self.url = identity_.url;
  self.serves = identity_.serves;
  machine_.emplace(
      MemberSettings{
          .poll_every = settings_.poll_every, .say_every = settings_.say_every, .serves_rounds = plane != nullptr},
      std::move(self), os::monotonic_now());
  loop_.start([this] { step(MemberTime{}); }, [this]() -> std::optional<Instant> { return machine_->next_deadline(); });
}

void FleetMember::refresh(std::function<void()> done) {
  loop_.post([this, done = std::move(done)]() mutable {
    lookers_.push_back(std::move(done));
    step(LookAtBoard{});  // in vain: whoever asked finds out
  });
}

void FleetMember::drain() {
  loop_.post([this] { step(DrainMember{}); });
}

void FleetMember::stop() {
  if (!std::exchange(is_started_, false)) return;
  // The loop first: a report that is still on its way would enter this node again.
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

// ---- From the device plane

void FleetMember::pool_changed(const Population& population, uint64_t waiting) {
  loop_.post([this, population, waiting] { step(PoolNoted{population, waiting}); });
}

void FleetMember::devices_steered(const Population& population, uint64_t count) {
  loop_.post([this, population, count] { step(SteeredNoted{population, count}); });
}

void FleetMember::tickets_issued(const RoundKey& key, uint32_t total) {
  loop_.post([this, key, total] { step(IssuedNoted{key, total}); });
}

void FleetMember::tickets_lacking(const RoundKey& key, uint64_t devices) {
  loop_.post([this, key, devices] { step(LackingNoted{key, devices}); });
}

void FleetMember::updates_accepted(const RoundKey& key, uint64_t total) {
  loop_.post([this, key, total] { step(AcceptedNoted{key, total}); });
}

// ---- What the machine asks

void FleetMember::step(const MemberEvent& event) {
  for (const MemberEffect& effect : machine_->step(event, os::monotonic_now())) perform(effect);
}

void FleetMember::perform(const MemberEffect& effect) {
  struct Visitor {
    FleetMember& self;
    void operator()(const ReadBoard& e) { self.read_board(e.known_revision); }
    void operator()(const TellOwner& e) {
      const std::lock_guard lock(self.mutex_);
      self.owner_url_ = e.url;
    }
    void operator()(const TellFleet& e) { self.plane_->fleet_knows(e.steered, e.nodes); }
    void operator()(const ServeRound& e) { self.plane_->serve(e.notice); }
    void operator()(const EndRound& e) { self.plane_->withdraw(e.key); }
    void operator()(const TellDue& e) { self.plane_->updates_due(e.key, e.total); }
    void operator()(const CountLacking&) { self.plane_->count_lacking(); }
    void operator()(const SayReport& e) { self.say(e.report); }
    void operator()(const BoardLookedAt&) {
      for (const auto& done : std::exchange(self.lookers_, {})) done();
    }
  };
  std::visit(Visitor{*this}, effect);
}

void FleetMember::read_board(uint64_t known_revision) {
  Result<BoardAnswered> answer = board_after(known_revision);
  if (!answer && !board_was_bad_) {
    log(LogLevel::warning, "fleet_board_not_read", {{"reason", answer.error().message()}});
  }
  if (answer && board_was_bad_) log(LogLevel::info, "fleet_board_read_again");
  board_was_bad_ = !answer;
  step(answer ? std::move(*answer) : BoardAnswered{.read = answer.error()});
}

Result<BoardAnswered> FleetMember::board_after(uint64_t known_revision) {
  COT_ASSIGN(const std::optional<FleetBoard> board, store_.read_board(known_revision));
  {
    // The store has answered, which is all that being in touch means. A board that cannot be read is reported apart.
    const std::lock_guard lock(mutex_);
    in_touch_at_ = os::monotonic_now();
  }
  if (!board) return BoardAnswered{};
  COT_ASSIGN(PostedBoard posted, board_from_text(board->text, [this](const Assignment& a) { return plan_of(a); }));
  return BoardAnswered{.read = {}, .revision = board->revision, .board = std::move(posted)};
}

// A leader of the version before puts no plan on the board: it is the blob that the assignment names.
Result<Plan> FleetMember::plan_of(const Assignment& assignment) {
  if (const auto known = plans_.find(assignment.plan); known != plans_.end()) return known->second;
  COT_ASSIGN(const Bytes bytes, blobs_.get(assignment.plan, limits::kPlanBytesMax));
  COT_ASSIGN(Plan plan, decode_plan(bytes));
  if (plans_.size() >= kPlansMax) plans_.clear();  // those still in use are read once more
  plans_.emplace(assignment.plan, plan);
  return plan;
}

void FleetMember::say(NodeReport report) {
  uint64_t waiting = 0;
  for (const auto& [population, count] : report.waiting) waiting += count;
  report.load = load_(waiting);
  const Status said = store_.say(
      {.node = identity_.node, .incarnation = identity_.incarnation, .started = started_, .report = to_text(report)},
      identity_.former, settings_.silence_max);
  if (said) return step(ReportSaid{std::move(report)});
  log(LogLevel::warning, "fleet_not_told", {{"reason", said.error().message()}});  // again at the next poll
}

}  // namespace coterie
