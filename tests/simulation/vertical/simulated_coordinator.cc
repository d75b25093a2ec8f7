#include "tests/simulation/vertical/simulated_coordinator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"
#include "tests/simulation/vertical/simulated_process.h"
#include "tests/simulation/vertical/vertical_world.h"
#include "vertical/coordinator/dealt_frames.h"
#include "vertical/psi/psi_wire.h"
#include "vertical/stage/wire.h"
#include "vertical/trees/tree_messages.h"

namespace coterie::simulation {

using namespace vertical;

namespace {

// A mutant's: the label party's masked ids, as if they were the feature party's answer to them.
Bytes with_kind_changed(ByteView piece) {
  constexpr std::array<uint8_t, 4> kMasked = {static_cast<uint8_t>(StageId::matching), 0,
                                              static_cast<uint8_t>(PsiKind::masked), 0};
  Bytes changed(piece.begin(), piece.end());
  if (changed.size() >= kMasked.size() && std::ranges::equal(ByteView(changed).first(kMasked.size()), kMasked)) {
    changed[2] = static_cast<uint8_t>(PsiKind::doubled);
  }
  return changed;
}

// A mutant's: another round's sample in the place of this one's, if the piece is a whole one.
Bytes with_stale_sample(ByteView piece, Bytes& before) {
  constexpr size_t kTreeBytes = 4;
  Bytes changed(piece.begin(), piece.end());
  WireReader reader(piece);
  const bool is_sample = reader.u16() == static_cast<uint16_t>(StageId::training) &&
                         reader.u16() == static_cast<uint16_t>(TreeMessage::sample) &&
                         reader.u32() + kFrameHeaderBytes == piece.size();
  if (!is_sample) return changed;
  const auto rows = changed.begin() + kFrameHeaderBytes + kTreeBytes;
  Bytes now(rows, changed.end());
  if (before.size() == now.size()) std::ranges::copy(before, rows);
  before = std::move(now);
  return changed;
}

Result<JobTerms> terms_of(std::string_view text) {
  COT_ASSIGN(const VerticalManifest manifest, parse_manifest(text));
  return JobTerms{.job = manifest.job, .manifest = manifest_digest(text), .parties = manifest.parties};
}

}  // namespace

SimulatedCoordinator::SimulatedCoordinator(VerticalWorld& world, std::string folder)
    : world_(world), folder_(std::move(folder)) {}

Now SimulatedCoordinator::when() const { return {.instant = world_.queue().now(), .wall = world_.queue().wall()}; }

template <typename Step>
void SimulatedCoordinator::guarded(Step step) {
  if (!is_up()) return;
  try {
    const Surrounded surrounded(*this);
    step();
  } catch (const Killed&) {
    kill();
    return;
  }
  set_alarm();
}

void SimulatedCoordinator::start() {
  ++life_;
  effects_ = 0;
  effects_until_killed_ = world_.effects_of_coordinator();
  Result<std::vector<JobRecord>> records = folder_.read_all();
  COT_ASSERT(records);
  machine_ = std::make_unique<CoordinatorMachine>(world_.limits(), terms_of, std::move(*records));
  guarded([this] { perform(machine_->begin(when())); });
}

void SimulatedCoordinator::kill() {
  if (!is_up()) return;
  world_.coordinator_killed();
  machine_.reset();
  alarm_ = Instant::max();
  storing_ = nullptr;
  refused_.reset();
  matchings_.clear();
  kept_.clear();
  for (auto& [id, held] : std::exchange(held_, {})) {
    held.connection->attach(Connection::kCoordinator, {});
    held.connection->cut();
  }
}

void SimulatedCoordinator::effect() {
  if (++effects_ == effects_until_killed_) die();
}

void SimulatedCoordinator::die() { throw Killed(); }

void SimulatedCoordinator::set_alarm() {
  const std::optional<Instant> next = machine_->next_deadline();
  if (!next || *next >= alarm_) return;
  alarm_ = *next;
  world_.queue().at(*next, [this, life = life_, at = *next] {
    if (life != life_ || at != alarm_) return;
    alarm_ = Instant::max();
    guarded([this] { perform(machine_->advance(when())); });
  });
}

std::shared_ptr<Connection> SimulatedCoordinator::take(const SimulatedProcess& from,
                                                       std::shared_ptr<Connection> connection) {
  if (!is_up()) return nullptr;
  const Id id = ++last_id_;
  connection->attach(Connection::kCoordinator,
                     {.heard = [this, id](ByteView bytes) { guarded([&] { heard(id, bytes); }); },
                      .ended = [this, id] { guarded([&] { ended(id); }); }});
  held_.emplace(id, Held{.connection = connection,
                         .identity = from.terms().identity,
                         .job = from.terms().job,
                         .party = from.terms().party.value_or(0),
                         .asked = {}});
  // Not at once: it is the process that runs now.
  world_.queue().after(Millis(0), [this, life = life_, id] {
    if (life == life_) guarded([&] { perform(machine_->opened(id, when())); });
  });
  return connection;
}

std::vector<std::shared_ptr<Connection>> SimulatedCoordinator::links_of(size_t job) const {
  std::vector<std::shared_ptr<Connection>> links;
  for (const auto& [id, held] : held_) {
    const bool is_link = held.phase == Phase::paired || held.phase == Phase::matching;
    if (is_link && held.job == job) links.push_back(held.connection);
  }
  return links;
}

void SimulatedCoordinator::heard(Id id, ByteView bytes) {
  const auto found = held_.find(id);
  if (found == held_.end()) return;
  Held& held = found->second;
  switch (held.phase) {
    case Phase::asking: held.asked.insert(held.asked.end(), bytes.begin(), bytes.end()); return ask(id, held);
    case Phase::waiting:
    case Phase::refused:
    case Phase::dealing: return perform(machine_->spoke_early(id, when()));
    case Phase::paired: return carry(id, held, bytes);
    case Phase::matching: return match(id, held, bytes);
  }
}

void SimulatedCoordinator::ask(Id id, Held& held) {
  if (held.asked.size() < kCoordinatorHeaderBytes) return;
  const ByteView asked(held.asked);
  const std::span<const uint8_t, kCoordinatorHeaderBytes> bytes(asked.data(), kCoordinatorHeaderBytes);
  const Result<RequestHeader> header = read_request_header(bytes);
  COT_ASSERT(header);
  if (asked.size() < kCoordinatorHeaderBytes + header->length) return;
  const Result<Request> request = read_request(header->kind, asked.subspan(kCoordinatorHeaderBytes, header->length));
  held.phase = Phase::waiting;
  if (request && request->kind == RequestKind::join) held.joins = request->job;
  const PeerIdentity identity = held.identity;
  perform(machine_->asked(id, identity, request ? std::optional(*request) : std::nullopt, when()));
}

void SimulatedCoordinator::carry(Id id, Held& held, ByteView bytes) {
  machine_->relayed(id, bytes.size(), when());
  const auto other = held_.find(held.other);
  if (other == held_.end()) return;
  std::optional<size_t> to_job = other->second.job;
  if (world_.options().mutant == VerticalMutant::pairs_crossed) {
    for (const auto& [listener, listening] : held_) {
      if (listening.phase == Phase::paired && listening.job != held.job) to_job = listening.job;
    }
  }
  if (refused_ && held_.contains(*refused_)) to_job.reset();
  const Way way{.from = held.party, .to = other->second.party};
  Bytes changed;
  if (world_.options().mutant == VerticalMutant::kind_changed && way.from == 0) {
    changed = with_kind_changed(bytes);
    bytes = changed;
  }
  if (world_.options().mutant == VerticalMutant::sample_stale && way.from == 0 && way.to == 2) {
    changed = with_stale_sample(bytes, samples_[held.job]);
    bytes = changed;
  }
  world_.oracle().carried(held.job, way, bytes, to_job);
  other->second.connection->send(Connection::kCoordinator, bytes);
  world_.piece_carried();
}

void SimulatedCoordinator::ended(Id id) {
  const auto found = held_.find(id);
  if (found == held_.end() || refused_ == id) return;
  const bool is_paired = found->second.phase == Phase::paired;
  const Id other = found->second.other;
  if (found->second.phase == Phase::matching) return leave_matching(other, id);
  drop(id);
  if (is_paired) drop(other);
  perform(machine_->closed(id, when()));
  // All that one side has said is through, and there is nobody for the other one.
  if (is_paired && is_up()) perform(machine_->closed(other, when()));
}

void SimulatedCoordinator::drop(Id id) {
  const auto found = held_.find(id);
  if (found == held_.end()) return;
  found->second.connection->close(Connection::kCoordinator);
  held_.erase(found);
}

void SimulatedCoordinator::store(const CoordinatorEffects& effects) {
  for (const VerticalJobId& job : effects.remove) COT_ASSERT(folder_.remove(job));
  for (const JobRecord& record : effects.store) {
    JobRecord stored = record;
    const bool is_put_back = world_.options().mutant == VerticalMutant::state_put_back;
    if (is_put_back && record.reason == "party_lost") stored.state = JobState::approved;
    storing_ = &stored;
    COT_ASSERT(folder_.put(stored));
  }
}

void SimulatedCoordinator::answer(const CoordinatorEffects& effects) {
  for (const CoordinatorEffects::Answer& answer : effects.answers) {
    const auto found = held_.find(answer.to);
    if (found == held_.end() || pairs_unapproved(answer)) continue;
    world_.oracle().told(answer.bytes);
    found->second.connection->send(Connection::kCoordinator, answer.bytes);
    effect();
    if (!answer.is_last) continue;
    const bool is_stranger = answer.bytes == write_refusal(vertical::Refusal::not_a_party);
    if (is_stranger && world_.options().mutant == VerticalMutant::refused_kept) {
      refused_ = answer.to;
    } else {
      drop(answer.to);
    }
  }
}

void SimulatedCoordinator::join_pair(Id first, Id second) {
  Held &one = held_.at(first), &other = held_.at(second);
  one.phase = other.phase = Phase::paired;
  one.other = second;
  other.other = first;
  world_.oracle().paired(one.job, {.from = one.party, .to = other.party});
}

void SimulatedCoordinator::begin_matching(const CoordinatorEffects::Matching& all) {
  const Id name = all.parties[0];
  for (const Id id : all.parties) {
    held_.at(id).phase = Phase::matching;
    held_.at(id).other = name;
  }
  MatchingFrames frames(static_cast<uint32_t>(all.parties.size()), world_.limits().matching_entries_max);
  if (const auto kept = kept_.find(all.job); kept != kept_.end()) frames = kept->second;
  matchings_.emplace(name, Matching{.job = all.job, .ids = all.parties, .frames = std::move(frames)});
  world_.oracle().matcher_begins(held_.at(name).job);
}

void SimulatedCoordinator::match(Id id, const Held& held, ByteView bytes) {
  Matching& matching = matchings_.at(held.other);
  const size_t job = held.job;
  machine_->relayed(id, bytes.size(), when());
  world_.oracle().carried(job, {.from = held.party, .to = kMatcher}, bytes, job);
  if (const Status status = tell_matcher(matching, held.party, bytes); !status) {
    const Error& error = status.error();
    const bool is_named = is_job_reason(error.reason());
    return perform(
        machine_->matching_failed(matching.job, std::string(is_named ? error.reason() : error.name()), when()));
  }
  for (const Id to : matching.ids) {
    const Held& listener = held_.at(to);
    const ByteView told = matching.frames.waiting(listener.party);
    if (told.empty()) continue;
    world_.oracle().carried(job, {.from = kMatcher, .to = listener.party}, told, listener.job);
    listener.connection->send(Connection::kCoordinator, told);
    matching.frames.sent(listener.party, told.size());
    effect();
  }
  world_.piece_carried();
}

Status SimulatedCoordinator::tell_matcher(Matching& matching, PartyIndex from, ByteView bytes) {
  if (world_.options().mutant == VerticalMutant::last_list_unheard) {
    const auto last = static_cast<PartyIndex>(matching.ids.size() - 1);
    if (from == last) return {};
    if (from == 0) COT_TRY(matching.frames.take(last, bytes));
  }
  COT_TRY(matching.frames.take(from, bytes));
  while (matching.frames.has_work()) COT_TRY(matching.frames.work());
  return {};
}

void SimulatedCoordinator::leave_matching(Id name, Id id) {
  const Matching& matching = matchings_.at(name);
  std::vector<Id> gone{id};
  if (!matching.frames.is_over()) gone = matching.ids;
  for (const Id one : gone) forget_matched(one);
  for (const Id one : gone) {
    if (is_up()) perform(machine_->closed(one, when()));
  }
}

void SimulatedCoordinator::forget_matched(Id id) {
  const auto matching = matchings_.find(held_.at(id).other);
  drop(id);
  std::erase(matching->second.ids, id);
  if (world_.options().mutant == VerticalMutant::matcher_kept && !matching->second.frames.is_over()) {
    kept_.insert_or_assign(matching->second.job, matching->second.frames);
  }
  if (matching->second.ids.empty()) matchings_.erase(matching);
}

bool SimulatedCoordinator::pairs_unapproved(const CoordinatorEffects::Answer& answer) {
  if (world_.options().mutant != VerticalMutant::unapproved_paired) return false;
  Held& held = held_.at(answer.to);
  if (!held.joins || answer.bytes != write_refusal(vertical::Refusal::not_approved)) return false;
  held.phase = Phase::refused;
  for (const auto& [other, kept] : held_) {
    if (kept.phase != Phase::refused || kept.joins != held.joins || kept.party == held.party) continue;
    JobView view = view_of(*machine_->find(*held.joins));
    view.state = JobState::running;
    for (const Id id : {answer.to, other}) held_.at(id).connection->send(Connection::kCoordinator, write_answer(view));
    const bool is_label = held.party == 0;
    join_pair(is_label ? answer.to : other, is_label ? other : answer.to);
    break;
  }
  return true;
}

void SimulatedCoordinator::perform(const CoordinatorEffects& effects) {
  const bool is_early = world_.options().mutant == VerticalMutant::told_before_stored;
  if (is_early) answer(effects);
  store(effects);
  if (!is_early) answer(effects);
  for (const CoordinatorEffects::Pair& two : effects.pairs) join_pair(two.first, two.second);
  for (const CoordinatorEffects::Matching& all : effects.matchings) begin_matching(all);
  for (const CoordinatorEffects::Deal& two : effects.deals) deal(two);
  if (world_.options().mutant != VerticalMutant::close_ignored) {
    for (const Id id : effects.closes) {
      const auto found = held_.find(id);
      if (found == held_.end()) continue;
      found->second.phase == Phase::matching ? forget_matched(id) : drop(id);
    }
  }
  machine_->check();
}

void SimulatedCoordinator::deal(CoordinatorEffects::Deal deal) {
  dealt_job_ = held_.at(deal.label).job;
  const Result<Secret<32>> stored = folder_.dealing_secret(deal.job);
  COT_ASSERT(stored);
  Secret<32> secret;
  std::ranges::copy(stored->reveal(), secret.mutable_bytes().begin());
  if (world_.options().mutant == VerticalMutant::dealt_anew) {
    secret.mutable_bytes()[0] ^= static_cast<uint8_t>(life_ - 1);
  }
  if (world_.options().mutant == VerticalMutant::dealt_alike) {
    deal.session = {};
    std::ranges::fill(secret.mutable_bytes(), uint8_t{0});
  }
  for (const auto& [id, party] : {std::pair(deal.label, PartyIndex{0}), {deal.feature, PartyIndex{1}}}) {
    Result<DealtFrames::AnyDealing> dealing = make_dealing(deal, party, secret);
    COT_ASSERT(dealing);
    DealtFrames frames(std::move(*dealing));
    Held& held = held_.at(id);
    held.phase = Phase::dealing;
    bool is_first = true;
    while (!frames.waiting().empty()) {
      const ByteView frame = frames.waiting();
      if (std::exchange(is_first, false)) world_.oracle().dealt(held.job, party, frame);
      held.connection->send(Connection::kCoordinator, frame);
      frames.sent(frame.size());
    }
  }
}

Result<std::unique_ptr<ByteStream>> SimulatedCoordinator::dial(const LinkPatience&) {
  return Error(ErrorCode::unavailable, "a coordinator dials nobody");
}

Instant SimulatedCoordinator::now() { return world_.queue().now(); }

void SimulatedCoordinator::draw(std::span<uint8_t> bytes) { world_.draw(dealt_job_, kVerticalParties.size(), bytes); }

bool SimulatedCoordinator::begin_file(const std::string&, ByteView) {
  effect();
  return true;
}

void SimulatedCoordinator::end_file() {
  // A record's own file is the first that is written for it.
  if (const JobRecord* const record = std::exchange(storing_, nullptr)) world_.oracle().stored(*record);
  effect();
}

}  // namespace coterie::simulation
