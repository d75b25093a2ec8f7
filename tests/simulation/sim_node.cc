#include "tests/simulation/sim_node.h"

#include <algorithm>

#include "proto/ring/ring_vector.h"
#include "secure/identity/manifest.h"
#include "secure/identity/ticket.h"

namespace coterie::simulation {
namespace {

constexpr Millis kBodyMax{500};
constexpr Millis kTickMin{400};
constexpr Millis kSayEvery{1'000};
constexpr uint64_t kUpdateBytes = 1000;

IngestLimits small_limits() {
  IngestLimits limits;
  limits.bytes_in_flight_max = 6 * kUpdateBytes;  // some uploads have to queue
  limits.batch_updates_max = 5;
  return limits;
}

}  // namespace

void SimNode::boot() {
  alive_ = true;
  ++incarnation_;
  desk_.emplace(DeskLimits{}, PaceSettings{}, world_.prng().next());
  ingest_.emplace(small_limits());
  report_ = {.node = "node" + std::to_string(index_),
             .incarnation = life(),
             .url = {},
             .serves = true,
             .draining = false,
             .load = {},
             .waiting = {},
             .issued = {},
             .lacking = {},
             .accepted = {}};
  tick();
}

void SimNode::crash() {
  if (!alive_) return;
  alive_ = false;
  ++world_.oracle().verdict().crashes;
  desk_.reset();
  ingest_.reset();
  view_.reset();
  is_served_ = false;
  revision_ = 0;
  assignment_.reset();
  waiters_.clear();
  uploads_.clear();
  sums_.clear();
  batches_.clear();
  armed_.reset();
  world_.queue().after(world_.some_delay(Millis(5'000)), [this] { boot(); });
}

std::function<void()> SimNode::alive_guard(std::function<void()> event) {
  return [this, incarnation = incarnation_, event = std::move(event)] {
    if (alive_ && incarnation_ == incarnation) event();
  };
}

void SimNode::arm() {
  if (!alive_) return;
  std::optional<Instant> next = desk_->next_deadline();
  if (const auto other = ingest_->next_deadline()) next = next ? std::min(*next, *other) : *other;
  if (!next || (armed_ && *armed_ <= *next && *armed_ > world_.queue().now())) return;
  armed_ = *next;
  world_.queue().at(*next, alive_guard([this] {
    run(desk_->time_passed(world_.queue().now()));
    step(IngestTime{});
  }));
}

// ---- The fleet's tables

void SimNode::tick() {
  for (const auto& [key, count] : desk_->lacking()) report_.lacking[key] = count;
  look_at_board([] {});
  say();
  world_.queue().after(kTickMin + world_.some_delay(kTickMin), alive_guard([this] { tick(); }));
}

void SimNode::look_at_board(std::function<void()> then) {
  using Answer = Result<std::shared_ptr<const FleetTables::Board>>;
  world_.ask_store<Answer>(
      reached_from_, [&w = world_]() -> Answer { return w.fleet().board; },
      [](Error error) { return Answer(std::move(error)); },
      [this, incarnation = incarnation_, then = std::move(then)](const Answer& board) {
        if (!alive_ || incarnation_ != incarnation) return;
        if (board && (*board)->revision > revision_) {
          revision_ = (*board)->revision;
          apply(**board);
        }
        then();
      });
}

void SimNode::say() {
  if (report_ == said_ && world_.queue().now() < said_at_ + kSayEvery) return;
  said_ = report_;
  said_at_ = world_.queue().now();
  world_.ask_store<Status>(
      reached_from_,
      [&w = world_, report = std::make_shared<const NodeReport>(report_)]() -> Status {
        w.fleet().nodes[report->node] = {report, w.queue().now()};
        return {};
      },
      [](Error error) { return Status(std::move(error)); }, [](const Status&) {});
}

void SimNode::apply(const FleetTables::Board& board) {
  if (view_ && (!board.round || board.round->key != view_->key)) {
    withdraw(view_->key);
    view_.reset();
    is_served_ = false;
    report_.issued.clear();
    report_.lacking.clear();
    report_.accepted.clear();
  }
  if (!board.round) return;
  RoundView view = *board.round;
  const auto share = board.shares.find(life());
  view.ticket_count = share == board.shares.end() ? 0 : share->second;
  publish(view);
}

// ---- Check-ins

void SimNode::check_in(const DeviceId& device, Millis hold, std::function<void(CheckinAnswer)> reply) {
  const WaiterId waiter(next_id_++);
  waiters_.emplace(waiter, std::move(reply));
  run(desk_->check_in(waiter, device, Population("default"), hold, world_.queue().now()));
}

void SimNode::run(DeskEffects effects) {
  desk_->check();
  for (DeskEffect& effect : effects) {
    if (auto* ticket = std::get_if<GiveTicket>(&effect)) {
      give_ticket(*ticket);
    } else if (auto* dismissed = std::get_if<Dismiss>(&effect)) {
      const auto waiter = waiters_.find(dismissed->waiter);
      if (waiter == waiters_.end()) continue;
      waiter->second(dismissed->window);
      waiters_.erase(waiter);
    } else if (auto* pool = std::get_if<ReportPool>(&effect)) {
      report_.waiting[pool->population] = pool->waiting;
    } else if (auto* issued = std::get_if<ReportTickets>(&effect)) {
      report_.issued[issued->key] = issued->total;
    }
  }
  arm();
}

void SimNode::give_ticket(const GiveTicket& effect) {
  const auto waiter = waiters_.find(effect.waiter);
  if (waiter == waiters_.end()) return;
  Assignment assignment = *assignment_;
  assignment.ticket = seal_ticket({effect.view.key, effect.device, assignment.not_after}, world_.ticket_key());
  waiter->second(assignment);
  waiters_.erase(waiter);
}

// ---- Rounds

void SimNode::publish(const RoundView& view) {
  const bool is_known = view_.has_value();
  view_ = view;
  if (is_served_) return serve(view, {});
  if (is_known) return;  // it is asked for already who is accepted
  ask_who_is_accepted();
}

// Before devices are asked for updates; again until the store answers.
void SimNode::ask_who_is_accepted() {
  using Answer = Result<std::vector<DeviceId>>;
  world_.ask_store<Answer>(
      reached_from_, [&s = world_.store(), key = view_->key] { return s.list_accepted(key); },
      [](Error error) { return Answer(std::move(error)); },
      [this, key = view_->key, incarnation = incarnation_](Answer accepted) {
        if (!alive_ || incarnation_ != incarnation || !view_ || view_->key != key || is_served_) return;
        if (!accepted)
          return world_.queue().after(kTickMin, alive_guard([this, key] {
                                        if (view_ && view_->key == key && !is_served_) ask_who_is_accepted();
                                      }));
        is_served_ = true;
        serve(*view_, *accepted);
      });
}

void SimNode::serve(const RoundView& view, const std::vector<DeviceId>& accepted) {
  if (view.state == RoundState::collecting) {
    const Millis left = std::max(Millis(0), view.deadline - world_.queue().now());
    Assignment assignment{.job = view.job,
                          .round = view.key,
                          .model_version = view.model_version,
                          .plan = view.plan,
                          .model = view.model,
                          .plan_bytes = view.plan_bytes,
                          .model_bytes = view.model_bytes,
                          .not_after = wall() + left + Millis(10'000),
                          .ticket = {},
                          .signature = {}};
    const bool same = assignment_ && assignment_->round == view.key && assignment_->not_after == assignment.not_after;
    if (!same) {
      COT_ASSERT(sign_manifest(assignment, world_.signer()).has_value());
      assignment_ = assignment;
    }
  }
  step(RoundPublished{view, accepted});
  run(desk_->publish(view, accepted));
}

void SimNode::withdraw(const RoundKey& key) {
  step(RoundWithdrawn{key});
  run(desk_->withdraw(key));
}

// ---- Uploads

void SimNode::upload(const DeviceId& device, const Bytes& ticket, std::function<void(UploadAnswer)> reply) {
  const Result<TicketClaims> claims = open_ticket(ticket, world_.ticket_key(), device, wall());
  if (!claims) return reply({.receipt = {}, .error = claims.error(), .window = {}});
  const UploadId upload(next_id_++);
  uploads_.emplace(upload, Upload{world_.index_of(device), std::move(reply)});
  const UploadOffered offered{upload, claims->round, device, kUpdateBytes};
  if (is_served_ && view_->key == claims->round) return step(offered);
  look_at_board([this, offered] { step(offered); });  // another node may have heard of the round sooner
}

void SimNode::step(const IngestEvent& event) {
  IngestEffects effects = ingest_->step(event, world_.queue().now());
  ingest_->check();
  for (IngestEffect& effect : effects) {
    if (!alive_) return;
    perform(effect);
  }
  arm();
}

void SimNode::perform(IngestEffect& effect) {
  World& world = world_;
  if (auto* lookup = std::get_if<LookUpAccepted>(&effect)) {
    world.ask_store<Result<bool>>(
        reached_from_, [&world, e = *lookup] { return world.store().is_accepted(e.key, e.device); },
        [](Error error) { return Result<bool>(std::move(error)); },
        [this, e = *lookup, incarnation = incarnation_](Result<bool> accepted) {
          if (!alive_ || incarnation_ != incarnation) return;
          if (!accepted && world_.options().mutant == Mutant::hopeful_lookup) accepted = true;
          step(AcceptedLookedUp{e.upload, e.key, e.device, std::move(accepted)});
        });
  } else if (auto* admitted = std::get_if<AdmitUpload>(&effect)) {
    // The body takes its time, and sometimes its connection breaks.
    const bool breaks = world.faults_are_on() && world.prng().chance(world.options().loss / 2);
    world.queue().after(world.some_delay(kBodyMax), alive_guard([this, id = admitted->upload, breaks] {
                          if (!breaks) return step(UploadReceived{id, {.updates = 1, .weight = 1}});
                          uploads_.erase(id);
                          step(UploadLost{id});
                        }));
  } else if (auto* refused = std::get_if<RefuseUpload>(&effect)) {
    answer(refused->upload, {.receipt = {}, .error = refused->error, .window = refused->window});
  } else if (auto* accepted = std::get_if<AcceptUpload>(&effect)) {
    const Digest receipt = receipt_for(accepted->key, accepted->device, world.ticket_key());
    world.oracle().acknowledged(accepted->key, world.index_of(accepted->device));
    answer(accepted->upload, {.receipt = Receipt{accepted->key, Bytes(receipt.bytes.begin(), receipt.bytes.end())},
                              .error = {},
                              .window = {}});
  } else if (auto* added = std::get_if<AddUpdate>(&effect)) {
    add(*added);
  } else if (auto* spilled = std::get_if<SpillBatch>(&effect)) {
    spill(*spilled);
  } else if (auto* committed = std::get_if<CommitBatch>(&effect)) {
    commit(*committed);
  } else if (auto* dropped = std::get_if<DropBatch>(&effect)) {
    const auto batch = batches_.find(dropped->batch);
    if (batch != batches_.end() && batch->second.partial.id.empty()) sums_[batch->second.partial.key].clear();
    batches_.erase(dropped->batch);
  } else if (auto* report = std::get_if<ReportAccepted>(&effect)) {
    report_.accepted[report->key] = report->total;
  } else if (auto* note = std::get_if<NoteAccepted>(&effect)) {
    desk_->accepted(note->key, note->device);
  }
}

void SimNode::answer(UploadId upload, UploadAnswer answer) {
  const auto found = uploads_.find(upload);
  if (found == uploads_.end()) return;
  found->second.reply(std::move(answer));
  uploads_.erase(found);
}

// Device i adds one to coordinate i. The mean time of an addition is nothing; what matters is that batches wait for it.
void SimNode::add(const AddUpdate& effect) {
  const auto found = uploads_.find(effect.upload);
  COT_ASSERT(view_.has_value());
  batches_[effect.batch].partial.key = view_->key;
  const uint32_t device = found->second.device;
  world_.queue().after(world_.some_delay(Millis(5)), alive_guard([this, effect, device, key = view_->key] {
                         std::vector<float> one_hot(world_.options().devices, 0.0f);
                         one_hot[device] = 1.0f;
                         std::vector<uint64_t>& sum = sums_[key];
                         sum.resize(one_hot.size());
                         const Status added = add_update(one_hot, 1, world_.fixed_point(), sum);
                         COT_ASSERT(added.has_value());
                         if (world_.options().mutant == Mutant::ack_before_commit) {
                           world_.oracle().acknowledged(key, device);
                           answer(effect.upload, {.receipt = Receipt{key, {1}}, .error = {}, .window = {}});
                         }
                         step(UpdateAdded{effect.upload, added});
                       }));
}

void SimNode::spill(const SpillBatch& effect) {
  Batch& batch = batches_[effect.batch];
  batch.partial = {.id = life() + "/" + std::to_string(effect.batch.value()),
                   .key = effect.key,
                   .totals = effect.totals,
                   .blob = {}};
  batch.lanes = sums_[effect.key];
  if (world_.options().mutant != Mutant::buffer_not_cleared) sums_[effect.key].clear();
  const Millis written = world_.some_delay(world_.options().spill_delay_max);
  world_.queue().after(written, alive_guard([this, id = effect.batch] { step(BufferReleased{id}); }));
  world_.queue().after(written + world_.some_delay(world_.options().spill_delay_max),
                       alive_guard([this, id = effect.batch] {
                         if (world_.faults_are_on() && world_.prng().chance(world_.options().spill_failure)) {
                           return step(BatchSpilled{id, Error(ErrorCode::storage_full, "the disk is full")});
                         }
                         world_.blobs()[batches_.at(id).partial.id] = batches_.at(id).lanes;
                         step(BatchSpilled{id, {}});
                       }));
}

void SimNode::commit(const CommitBatch& effect) {
  const PartialRecord partial = batches_.at(effect.batch).partial;
  world_.ask_store<BatchOutcome>(
      reached_from_,
      [&w = world_, partial, rows = effect.rows]() -> BatchOutcome {
        BatchOutcome outcome = w.store().accept_batch(partial, rows);
        if (std::holds_alternative<BatchConflict>(outcome)) ++w.oracle().verdict().conflicts;
        // A store that forgot the id has filed the blob under another name.
        if (w.options().mutant == Mutant::no_idempotence) w.blobs()[partial.id + "'"] = w.blobs()[partial.id];
        return outcome;
      },
      [](Error error) { return BatchOutcome(BatchUnknown{std::move(error)}); },
      [this, id = effect.batch, incarnation = incarnation_](BatchOutcome outcome) {
        if (!alive_ || incarnation_ != incarnation) return;
        const Mutant mutant = world_.options().mutant;
        if (mutant == Mutant::doubt_is_consent && std::holds_alternative<BatchUnknown>(outcome)) outcome = BatchDone{};
        if (mutant == Mutant::conflict_for_all && std::holds_alternative<BatchConflict>(outcome)) outcome = BatchDone{};
        if (std::holds_alternative<BatchDone>(outcome)) batches_.erase(id);
        step(BatchAnswered{id, std::move(outcome)});
      });
}

}  // namespace coterie::simulation
