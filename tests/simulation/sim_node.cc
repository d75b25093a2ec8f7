#include "tests/simulation/sim_node.h"

#include <algorithm>

#include "fl_server/fleet/fleet_text.h"
#include "fl_server/runtime/ticket_terms.h"
#include "proto/codec/codec.h"
#include "proto/ring/ring_vector.h"
#include "tests/simulation/mutants.h"

namespace coterie::simulation {
namespace {

constexpr Millis kBodyMax{500};
constexpr uint64_t kUpdateBytes = 1000;

IngestLimits small_limits() {
  IngestLimits limits;
  limits.bytes_in_flight_max = 6 * kUpdateBytes;  // some uploads have to queue
  limits.batch_updates_max = 5;
  return limits;
}

}  // namespace

Failure failure_of(UploadAnswer answer) {
  std::optional<RetryWindow> window;
  if (answer.window.max_ms > 0) window = answer.window;
  return {std::move(*answer.error), std::move(window)};
}

// ---- Life

void SimNode::boot() {
  alive_ = true;
  ++incarnation_;
  asked_ = {};
  desk_.emplace(DeskLimits{}, PaceSettings{}, world_.prng().next());
  intake_.emplace(IntakeSettings{.can_look = true});
  ingest_.emplace(small_limits());
  records_.emplace(life());
  NodeReport self;
  self.node = "node" + std::to_string(index_);
  self.incarnation = life();
  self.serves = true;
  // Not all nodes poll at the same moments.
  const Millis poll_every = Millis(400) + world_.some_delay(Millis(400));
  member_.emplace(MemberSettings{.poll_every = poll_every}, std::move(self), world_.queue().now());
  arm();
}

void SimNode::crash() {
  if (!alive_) return;
  alive_ = false;
  ++world_.oracle().verdict().crashes;
  desk_.reset();
  intake_.reset();
  ingest_.reset();
  member_.reset();
  owner_.clear();
  rounds_.clear();
  looks_ = 0;
  waiters_.clear();
  uploads_.clear();
  sums_.clear();
  batches_.clear();
  records_.reset();
  armed_.reset();
  world_.queue().after(world_.some_delay(Millis(5'000)), [this] { boot(); });
}

std::function<void()> SimNode::alive_guard(std::function<void()> event) {
  return [this, incarnation = incarnation_, event = std::move(event)] {
    if (alive_ && incarnation_ == incarnation) event();
  };
}

template <typename T>
void SimNode::ask_store(std::function<T()> work, std::function<T(Error)> failure, std::function<void(T)> answer) {
  world_.ask_store<T>(reached_from_, std::move(work), std::move(failure),
                      [this, incarnation = incarnation_, answer = std::move(answer)](T result) {
                        if (alive_ && incarnation_ == incarnation) answer(std::move(result));
                      });
}

void SimNode::arm() {
  Instant next = member_->next_deadline();
  for (const auto other : {desk_->next_deadline(), intake_->next_deadline(), ingest_->next_deadline()}) {
    if (other) next = std::min(next, *other);
  }
  if (armed_ && *armed_ <= next) return;
  armed_ = next;
  world_.queue().at(next, alive_guard([this, next] {
                      if (armed_ != next) return;  // an earlier one was armed since
                      armed_.reset();
                      time_passed();
                    }));
}

void SimNode::time_passed() {
  const Instant now = world_.queue().now();
  const auto is_due = [&](std::optional<Instant> at) { return at && *at <= now; };
  if (is_due(desk_->next_deadline())) run(desk_->time_passed(now));
  if (is_due(ingest_->next_deadline())) step(IngestEvent(IngestTime{}));
  if (is_due(intake_->next_deadline())) step(IntakeEvent(IntakeTime{}));
  if (is_due(member_->next_deadline())) step(MemberEvent(MemberTime{}));
  arm();
}

// ---- The fleet

void SimNode::step(const MemberEvent& event) {
  MemberEffects effects = member_->step(event, world_.queue().now());
  member_->check();
  alter(world_.options().mutant, effects);
  for (const MemberEffect& effect : effects) perform(effect);
  arm();
}

void SimNode::perform(const MemberEffect& effect) {
  struct Visitor {
    SimNode& self;
    void operator()(const ReadBoard& e) { self.read_board(e.known_revision); }
    void operator()(const TellOwner& e) { self.owner_ = e.url; }
    void operator()(const TellFleet& e) { self.desk_->fleet_knows(e.steered, e.nodes); }
    void operator()(const ServeRound& e) { self.step(IntakeEvent(LearnRound{e.notice})); }
    void operator()(const EndRound& e) { self.step(IntakeEvent(ForgetRound{e.key})); }
    void operator()(const TellDue& e) { self.step(IntakeEvent(LearnDue{e.key, e.total})); }
    void operator()(const CountLacking&) { self.count_lacking(); }
    void operator()(const SayReport& e) { self.say(e.report); }
    void operator()(const BoardLookedAt&) {
      for (uint32_t looks = std::exchange(self.looks_, 0); looks > 0; --looks) self.step(IntakeEvent(RoundsLookedAt{}));
    }
  };
  std::visit(Visitor{*this}, effect);
}

void SimNode::read_board(uint64_t known_revision) {
  using Returned = Result<std::optional<FleetTables::Board>>;
  ask_store<Returned>(
      [&w = world_, known_revision]() -> Returned {
        if (w.fleet().board.revision == known_revision) return std::optional<FleetTables::Board>();
        return std::optional<FleetTables::Board>(w.fleet().board);
      },
      [](Error error) { return Returned(std::move(error)); },
      [this](Returned answer) {
        if (!answer) return step(MemberEvent(BoardAnswered{.read = answer.error()}));
        if (!*answer) return step(MemberEvent(BoardAnswered{.read = {}}));
        step(MemberEvent(BoardAnswered{{}, (*answer)->revision, *(*answer)->posted}));
      });
}

void SimNode::say(const NodeReport& report) {
  ask_store<Status>(
      [&w = world_, report]() -> Status {
        FleetTables::Node& row = w.fleet().nodes[report.node];
        row.when = w.queue().now();
        if (row.said == report) return {};  // its text would be the same
        Result<NodeReport> read = node_report_from_text(to_text(report));
        COT_ASSERT(read.has_value());
        read->node = report.node;  // the row has these two
        read->incarnation = report.incarnation;
        row.said = report;
        row.report = std::move(*read);
        return {};
      },
      [](Error error) { return Status(std::move(error)); },
      [this, report](const Status& said) {
        if (said) step(MemberEvent(ReportSaid{report}));
      });
}

void SimNode::count_lacking() {
  for (const auto& [key, devices] : desk_->lacking()) step(MemberEvent(LackingNoted{key, devices}));
  for (const auto& [population, count] : desk_->steered_here(world_.queue().now())) {
    step(MemberEvent(SteeredNoted{population, count}));
  }
}

// ---- Rounds

void SimNode::step(const IntakeEvent& event) {
  const IntakeEffects effects = intake_->step(event, world_.queue().now());
  intake_->check();
  for (const IntakeEffect& effect : effects) perform(effect);
  arm();
}

void SimNode::perform(const IntakeEffect& effect) {
  struct Visitor {
    SimNode& self;
    void operator()(const AskAccepted& e) { self.ask_who_is_accepted(e.key); }
    void operator()(const TakeUp& e) { self.take_up(e); }
    void operator()(const GiveUp& e) {
      self.step(IngestEvent(RoundWithdrawn{e.key}));
      self.asked_.withdrawn(e.key);
      self.run(self.desk_->withdraw(e.key));
      self.rounds_.erase(e.key);
    }
    void operator()(const LookForRounds&) {
      ++self.looks_;
      self.step(MemberEvent(LookAtBoard{}));
    }
    void operator()(const StepIngest& e) { self.step(e.event); }
  };
  std::visit(Visitor{*this}, effect);
}

void SimNode::ask_who_is_accepted(const RoundKey& key) {
  using Returned = Result<Listed>;
  const auto list = [&s = world_.store(), key]() -> Returned {
    COT_ASSIGN(std::vector<DeviceId> accepted, s.list_accepted(key));
    COT_ASSIGN(std::vector<DeviceId> resting, s.list_resting(key));
    return Listed{std::move(accepted), std::move(resting)};
  };
  ask_store<Returned>(
      list, [](Error error) { return Returned(std::move(error)); },
      [this, key](Returned listed) {
        step(IntakeEvent(AcceptedListed{key, std::move(listed)}));
      });
}

void SimNode::take_up(const TakeUp& effect) {
  rounds_.insert_or_assign(effect.notice.key, effect.notice);
  step(IngestEvent(RoundPublished{effect.notice, effect.devices.accepted}));
  asked_.served(effect.notice, effect.devices.accepted);
  run(desk_->publish(effect.notice, effect.devices.accepted, effect.devices.resting));
}

// ---- Check-ins

void SimNode::check_in(const DeviceId& device, Millis hold, const Bytes& held,
                       std::function<void(CheckinAnswer)> reply) {
  const WaiterId waiter(next_id_++);
  std::optional<HeldUpdate> update;
  if (!held.empty()) {
    if (const auto claims = open_ticket(held, world_.ticket_key(), device)) update = held_by(*claims);
  }
  waiters_.emplace(waiter, std::move(reply));
  asked_.asks(waiter, device);
  run(desk_->check_in(waiter, device, Population("default"), hold, world_.queue().now(), std::move(update)));
}

void SimNode::run(DeskEffects effects) {
  desk_->check();
  for (DeskEffect& effect : effects) {
    if (auto* ticket = std::get_if<GiveTicket>(&effect)) {
      give_ticket(*ticket);
    } else if (auto* dismissed = std::get_if<Dismiss>(&effect)) {
      const auto waiter = waiters_.find(dismissed->waiter);
      asked_.answered(dismissed->waiter);
      if (waiter == waiters_.end()) continue;
      waiter->second(dismissed->window);
      waiters_.erase(waiter);
    } else if (auto* pool = std::get_if<ReportPool>(&effect)) {
      step(MemberEvent(PoolNoted{pool->population, pool->waiting}));
    } else if (auto* issued = std::get_if<ReportTickets>(&effect)) {
      step(MemberEvent(IssuedNoted{issued->key, issued->total}));
    } else if (auto* told = std::get_if<TellGates>(&effect)) {
      keep(*told->told);
    }
  }
  arm();
}

void SimNode::give_ticket(const GiveTicket& effect) {
  const auto waiter = waiters_.find(effect.waiter);
  const auto round = rounds_.find(effect.key);
  asked_.answered(effect.waiter);
  if (waiter == waiters_.end() || round == rounds_.end()) return run(desk_->undelivered(effect.key, effect.device));
  Assignment assignment = round->second.assignment;
  assignment.ticket = seal_ticket(claims_of(round->second, effect), world_.ticket_key());
  asked_.got_ticket(effect.key, effect.device);
  waiter->second(assignment);
  waiters_.erase(waiter);
}

// A word that the store does not hear is lost: the next one says more.
void SimNode::keep(const ToldGates& told) {
  if (const std::optional<std::string> wrong = asked_.judge(told)) {
    world_.oracle().problem(&Verdict::misaccounted, "round " + std::to_string(told.key.round.value()) + " attempt " +
                                                        std::to_string(told.key.attempt.value()) + ": " + *wrong);
  }
  ask_store<Status>(
      [&w = world_, key = told.key, row = gate_row_of(told, life())]() -> Status {
        w.gates()[key][row.life] = row;
        return {};
      },
      [](Error error) { return Status(std::move(error)); }, [](const Status&) {});
}

// ---- Uploads

void SimNode::upload(const DeviceId& device, const Bytes& ticket, const Training& training,
                     std::optional<MaskedUpdate> masked, std::function<void(UploadAnswer)> reply) {
  const Result<TicketClaims> claims = open_ticket(ticket, world_.ticket_key(), device);
  if (!claims) return reply({.receipt = {}, .error = claims.error(), .window = {}});
  const UploadId upload(next_id_++);
  uploads_.emplace(upload, Upload{claims->round, world_.index_of(device), training, claims->handed.has_value(),
                                  std::move(masked), std::move(reply)});
  desk_->met(claims->round, device, {DeviceGate::uploading});
  step(IntakeEvent(OfferUpload{{upload, claims->round, device, kUpdateBytes}}));
}

void SimNode::step(IngestEvent event) {
  alter(world_.options().mutant, event);
  IngestEffects effects = ingest_->step(event, world_.queue().now());
  ingest_->check();
  alter(world_.options().mutant, event, effects, [this](UploadId id) -> std::optional<AcceptUpload> {
    const auto upload = uploads_.find(id);
    if (upload == uploads_.end()) return std::nullopt;
    return AcceptUpload{id, upload->second.key, world_.device_id(upload->second.device)};
  });
  for (const IngestEffect& effect : effects) {
    if (!alive_) return;
    perform(effect);
  }
  arm();
}

void SimNode::perform(const IngestEffect& effect) {
  struct Visitor {
    SimNode& self;
    void operator()(const LookUpAccepted& e) { self.look_up(e); }
    void operator()(const AdmitUpload& e) { self.receive_body(e.upload); }
    void operator()(const RefuseUpload& e) {
      if (const auto upload = self.uploads_.find(e.upload); upload != self.uploads_.end()) {
        self.desk_->met(upload->second.key, self.world_.device_id(upload->second.device), gate_of_refusal(e.error));
      }
      self.answer(e.upload, {.receipt = {}, .error = e.error, .window = e.window});
    }
    void operator()(const AcceptUpload& e) { self.accept(e); }
    void operator()(const AddUpdate& e) { self.add(e); }
    void operator()(const ReleaseBody&) {}
    void operator()(const SpillBatch& e) { self.spill(e); }
    void operator()(const CommitBatch& e) { self.commit(e); }
    void operator()(const DropBatch& e) { self.drop(e.batch); }
    void operator()(const ReportAccepted& e) { self.step(MemberEvent(AcceptedNoted{e.key, e.total})); }
    void operator()(const NoteAccepted& e) {
      self.asked_.accepted(e.key, e.device);
      self.desk_->accepted(e.key, e.device, {.loss_level = static_cast<uint8_t>(e.device.bytes[0] % kReportLevels)});
    }
  };
  std::visit(Visitor{*this}, effect);
}

void SimNode::look_up(const LookUpAccepted& effect) {
  using Fate = Result<UpdateFate>;
  ask_store<Fate>([&s = world_.store(), effect] { return s.look_up(effect.key, effect.device); },
                  [](Error error) { return Fate(std::move(error)); },
                  [this, effect](const Fate& fate) {
                    const auto upload = uploads_.find(effect.upload);
                    const bool may_join = upload != uploads_.end() && upload->second.may_join;
                    step(looked_up(effect, fate, may_join));
                  });
}

// The body takes its time, and sometimes its connection breaks.
void SimNode::receive_body(UploadId upload) {
  const bool breaks = world_.faults_are_on() && world_.prng().chance(world_.options().loss / 2);
  world_.queue().after(world_.some_delay(kBodyMax), alive_guard([this, upload, breaks] {
                         if (!breaks) {
                           if (world_.options().is_masked()) return receive_masked(upload);
                           return step(UploadReceived{upload, {.updates = 1, .weight = 1}});
                         }
                         uploads_.erase(upload);
                         step(UploadLost{upload});
                       }));
}

void SimNode::accept(const AcceptUpload& effect) {
  const Digest receipt = receipt_for(effect.key, effect.device, world_.ticket_key());
  world_.oracle().acknowledged(effect.key, world_.index_of(effect.device));
  answer(
      effect.upload,
      {.receipt = Receipt{effect.key, Bytes(receipt.bytes.begin(), receipt.bytes.end())}, .error = {}, .window = {}});
}

void SimNode::answer(UploadId upload, UploadAnswer answer) {
  const auto found = uploads_.find(upload);
  if (found == uploads_.end()) return;
  found->second.reply(std::move(answer));
  uploads_.erase(found);
}

// Device i adds one to coordinate i. The mean time of an addition is nothing; what matters is that batches wait for it.
void SimNode::add(const AddUpdate& effect) {
  const Upload& upload = uploads_.at(effect.upload);
  batches_[effect.batch].key = upload.key;
  records_->add(effect.batch);
  world_.oracle().added(upload.key, upload.device, upload.training);
  if (upload.masked) {
    return world_.queue().after(world_.some_delay(Millis(5)),
                                alive_guard([this, effect, key = upload.key, lanes = upload.masked->lanes] {
                                  std::vector<uint64_t>& sum = sums_[key];
                                  sum.resize(lanes.size());
                                  add_lanes(lanes, sum);
                                  if (world_.options().mutant == Mutant::masked_twice) add_lanes(lanes, sum);
                                  step(UpdateAdded{effect.upload, {}});
                                }));
  }
  world_.queue().after(world_.some_delay(Millis(5)),
                       alive_guard([this, effect, device = upload.device, key = upload.key] {
                         std::vector<float> one_hot(world_.options().devices, 0.0f);
                         one_hot[device] = 1.0f;
                         std::vector<uint64_t>& sum = sums_[key];
                         sum.resize(one_hot.size());
                         const Status added = add_update(one_hot, 1, world_.fixed_point(), sum);
                         COT_ASSERT(added.has_value());
                         step(UpdateAdded{effect.upload, added});
                       }));
}

// The lanes are read while they are written, and the buffer is cleared behind: whatever were added meanwhile would be
// in this batch without a row of it.
void SimNode::spill(const SpillBatch& effect) {
  records_->spill(effect, world_.queue().now());
  records_->check();
  const Millis written = world_.some_delay(world_.options().spill_delay_max);
  const Millis durable = written + world_.some_delay(world_.options().spill_delay_max);
  world_.queue().after(written, alive_guard([this, id = effect.batch, key = effect.key] {
                         batches_.at(id).lanes = sums_[key];
                         if (world_.options().mutant != Mutant::buffer_not_cleared) sums_[key].clear();
                         step(BufferReleased{id});
                       }));
  world_.queue().after(durable, alive_guard([this, id = effect.batch] { write_partial(id); }));
}

void SimNode::write_partial(BatchId id) {
  if (world_.faults_are_on() && world_.prng().chance(world_.options().spill_failure)) {
    return step(BatchSpilled{id, Error(ErrorCode::storage_full, "the disk is full")});
  }
  const Batch& batch = batches_.at(id);
  const PartialRecord& partial = records_->partial(id);
  Bytes frame = encode_head(PartialSumHeader{partial.key, partial.id, static_cast<uint32_t>(partial.totals.updates),
                                             partial.totals.weight, batch.lanes.size()});
  const auto* lanes = reinterpret_cast<const uint8_t*>(batch.lanes.data());
  frame.insert(frame.end(), lanes, lanes + batch.lanes.size() * sizeof(uint64_t));
  records_->spilled(id, *world_.partials().put(frame));
  step(BatchSpilled{id, {}});
}

void SimNode::commit(const CommitBatch& effect) {
  ask_store<BatchOutcome>(
      [&w = world_, partial = records_->partial(effect.batch), rows = effect.rows]() -> BatchOutcome {
        BatchOutcome outcome = w.store().accept_batch(partial, rows);
        if (std::holds_alternative<BatchConflict>(outcome)) ++w.oracle().verdict().conflicts;
        return outcome;
      },
      [](Error error) { return BatchOutcome(BatchUnknown{std::move(error)}); },
      [this, id = effect.batch](BatchOutcome outcome) {
        if (std::holds_alternative<BatchDone>(outcome)) {
          records_->done(id, world_.queue().now());
          batches_.erase(id);
        }
        step(BatchAnswered{id, std::move(outcome)});
      });
}

void SimNode::drop(BatchId id) {
  const BatchLeft left = records_->drop(id);
  const auto batch = batches_.extract(id);
  if (left.is_in_sum) sums_[batch.mapped().key].clear();
  if (left.blob) COT_ASSERT(world_.partials().remove(*left.blob));
}

}  // namespace coterie::simulation
