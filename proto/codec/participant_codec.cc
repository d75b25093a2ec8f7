// The device's saved session. Fields are only ever added: a state of an older build reads as if nothing had
// been spent yet.
#include <algorithm>
#include <cmath>

#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/generated/state_generated.h"

namespace coterie {
namespace {

flatbuffers::Offset<state::Spent> build(flatbuffers::FlatBufferBuilder& builder, const DeviceSpent& spent) {
  if (spent == DeviceSpent{}) return 0;
  const RoundKey last = spent.last.value_or(RoundKey{});
  return state::CreateSpent(builder, spent.epsilon, spent.delta, last.round.value(), last.attempt.value());
}

Result<DeviceSpent> parse(const state::Spent* table) {
  DeviceSpent spent;
  if (table == nullptr) return spent;
  spent.epsilon = table->epsilon();
  spent.delta = table->delta();
  if (!std::isfinite(spent.epsilon) || spent.epsilon < 0)
    return flat::out_of_range("spent.epsilon", "must be finite and >= 0");
  if (!std::isfinite(spent.delta) || spent.delta < 0)
    return flat::out_of_range("spent.delta", "must be finite and >= 0");
  if (table->last_attempt() > 0) spent.last = RoundKey{RoundId(table->last_round()), Attempt(table->last_attempt())};
  return spent;
}

// The newest model of one job.
flatbuffers::Offset<state::NewestModel> build(flatbuffers::FlatBufferBuilder& builder, const ParticipantState& of,
                                              const JobId& job, ModelVersion newest) {
  const auto took_part = of.took_part.find(job);
  const bool has_taken_part = took_part != of.took_part.end();
  const auto attempts = of.attempts.find(job);
  const auto level = of.levels.find(job);
  const auto ledger = of.ledgers.find(job);
  const auto ledger_head = flat::build(builder, ledger == of.ledgers.end() ? LedgerHead{} : ledger->second);
  return state::CreateNewestModel(builder, builder.CreateString(job.value()), newest.value(), has_taken_part,
                                  has_taken_part ? took_part->second.value() : 0, ledger_head,
                                  has_taken_part && attempts != of.attempts.end() ? attempts->second : 0,
                                  level == of.levels.end() ? 0 : static_cast<uint8_t>(level->second));
}

Status parse(const state::NewestModel& entry, ParticipantState& into) {
  COT_ASSIGN(std::string text, flat::text(entry.job(), "job", 64, 1));
  const JobId job(std::move(text));
  into.newest_models[job] = ModelVersion(entry.model_version());
  if (entry.ledger() != nullptr) {
    const LedgerHead ledger = flat::parse(entry.ledger());
    if (ledger.records == 0 || ledger.head == Digest{})
      return flat::out_of_range("ledger", "must have records and a head");
    into.ledgers[job] = ledger;
  }
  if (entry.level() > static_cast<uint8_t>(SecurityLevel::active_dp)) return flat::out_of_range("level", "is unknown");
  if (entry.level() > 0) into.levels[job] = static_cast<SecurityLevel>(entry.level());
  if (!entry.took_part()) return {};
  if (entry.took_part_version() > entry.model_version()) {
    return flat::out_of_range("took_part_version", "must be at most model_version");
  }
  into.took_part[job] = ModelVersion(entry.took_part_version());
  if (entry.attempts() > 0) into.attempts[job] = entry.attempts();
  return {};
}

Status parse(const state::ModelOpenings& entry, ParticipantState& into) {
  const ModelOpenings openings{flat::digest(entry.model()), entry.sums(), entry.is_told()};
  if (openings.sums == 0 && !openings.is_told) return flat::out_of_range("openings", "must have been opened");
  if (std::ranges::find(into.openings, openings.model, &ModelOpenings::model) != into.openings.end()) {
    return flat::out_of_range("openings", "must be of different models");
  }
  into.openings.push_back(openings);
  return {};
}

state::StateSlot build(const StateSlot& slot) {
  return {static_cast<uint8_t>(slot.kind), slot.version.value(), flat::digest(slot.model), flat::digest(slot.before),
          flat::digest(slot.content)};
}

Result<StateSlot> parse(const state::StateSlot& from) {
  const StateSlot slot{static_cast<StateKind>(from.kind()), ModelVersion(from.model_version()),
                       flat::digest(from.model()), flat::digest(from.before()), flat::digest(from.content())};
  if (slot.kind == StateKind::none || to_string(slot.kind) == "unknown") {
    return flat::out_of_range("state.kind", "is unknown");
  }
  return slot;
}

flatbuffers::Offset<state::KeptState> build(flatbuffers::FlatBufferBuilder& builder, const JobId& job,
                                            const KeptState& kept) {
  const auto name = builder.CreateString(job.value());
  const state::StateSlot slot = build(kept.slot);
  const state::StateSlot previous = kept.previous ? build(*kept.previous) : state::StateSlot();
  flatbuffers::Offset<wire::Personal> personal = 0;
  if (kept.personal) personal = flat::build(builder, *kept.personal, 0);
  return state::CreateKeptState(builder, name, &slot, kept.previous ? &previous : nullptr, unix_ms(kept.used),
                                personal);
}

bool is_personal(StateKind kind) {
  return kind == StateKind::personal_part || kind == StateKind::personal_model || kind == StateKind::personal_cluster;
}

Status parse(const state::KeptState& from, ParticipantState& into) {
  COT_ASSIGN(std::string job, flat::text(from.job(), "state.job", 64, 1));
  KeptState kept;
  COT_ASSIGN(kept.slot, parse(*from.slot()));
  if (from.previous() != nullptr) {
    COT_ASSIGN(kept.previous, parse(*from.previous()));
    if (kept.previous->version >= kept.slot.version) {
      return flat::out_of_range("state.previous", "must be of an older model");
    }
  }
  COT_ASSIGN(kept.used, flat::wall_time(from.used_unix_ms(), "state.used"));
  if (from.personal() != nullptr) {
    COT_ASSIGN(kept.personal, flat::parse(*from.personal()));
    if (to_string(kept.personal->kind) == "unknown") return flat::out_of_range("state.personal", "is of no known kind");
  }
  if (kept.personal.has_value() != is_personal(kept.slot.kind)) {
    return flat::out_of_range("state.personal", "must be there of what is personal, and of nothing else");
  }
  into.states[JobId(std::move(job))] = std::move(kept);
  return {};
}

}  // namespace

Bytes encode(const ParticipantState& message) {
  flatbuffers::FlatBufferBuilder builder;
  const auto population = builder.CreateString(message.population.value());
  const auto signing_key = flat::vector(builder, message.keys.newest);
  flatbuffers::Offset<wire::Assignment> assignment = 0;
  if (message.assignment) assignment = flat::build(builder, *message.assignment);
  const auto random = builder.CreateVector(message.random.data(), message.random.size());
  std::vector<flatbuffers::Offset<state::NewestModel>> newest;
  for (const auto& [job, version] : message.newest_models) {
    newest.push_back(build(builder, message, job, version));
  }
  const auto newest_models = builder.CreateVector(newest);
  const auto plan = flat::vector(builder, message.plan);
  const auto spent = build(builder, message.spent);
  flatbuffers::Offset<wire::Refusal> refusal = 0;
  if (message.refusal) refusal = flat::build(builder, *message.refusal);
  std::vector<state::ModelOpenings> openings;
  for (const auto& [model, sums, is_told] : message.openings) {
    openings.emplace_back(flat::digest(model), sums, is_told);
  }
  const auto opened = openings.empty() ? 0 : builder.CreateVectorOfStructs(openings);
  flatbuffers::Offset<wire::Log> log = 0;
  if (message.log) log = flat::build(builder, *message.log);
  const auto retiring_keys = flat::build(builder, message.keys.retiring);
  std::vector<flatbuffers::Offset<state::KeptState>> kept;
  for (const auto& [job, state] : message.states) kept.push_back(build(builder, job, state));
  const auto states = kept.empty() ? 0 : builder.CreateVector(kept);
  const state::StateSlot staged = message.staged ? build(*message.staged) : state::StateSlot();
  flatbuffers::Offset<wire::Assignment> joined = 0;
  if (message.joined) joined = flat::build(builder, *message.joined);
  const wire::DeviceKeyHash device = flat::device(message.device);
  builder.Finish(state::CreateParticipantState(
      builder, static_cast<uint8_t>(message.phase), &device, population, signing_key, assignment, message.failures,
      unix_ms(message.wait_until), random, newest_models, message.rounds_done, plan, spent, refusal, opened,
      message.has_opened, log, retiring_keys, states, message.staged ? &staged : nullptr, unix_ms(message.late_since),
      joined, message.joined_weight, message.has_masked));
  return flat::finish(builder, FrameKind::participant_state);
}

Result<ParticipantState> decode_participant_state(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::participant_state));
  COT_ASSIGN(const auto root, flat::Root<state::ParticipantState>::verify(frame.header));
  ParticipantState message;
  if (root->phase() < static_cast<uint8_t>(ParticipantPhase::unenrolled) ||
      root->phase() > static_cast<uint8_t>(ParticipantPhase::aggregating)) {
    return flat::out_of_range("phase", "is unknown");
  }
  message.phase = static_cast<ParticipantPhase>(root->phase());
  if (root->device() != nullptr) message.device = flat::device(*root->device());
  COT_ASSIGN(std::string population, flat::text(root->population(), "population", limits::kTextBytesMax));
  message.population = Population(std::move(population));
  COT_ASSIGN(message.keys.newest, flat::bytes(root->signing_key(), "signing_key", limits::kKeyBytesMax, 0));
  if (root->assignment() != nullptr) {
    COT_ASSIGN(Assignment assignment, flat::parse(*root->assignment()));
    message.assignment = std::move(assignment);
  }
  if (!message.assignment && message.phase >= ParticipantPhase::assigned) {
    return flat::out_of_range("assignment", "is missing");
  }
  message.failures = root->failures();
  COT_ASSIGN(message.wait_until, flat::wall_time(root->wait_until_unix_ms(), "wait_until"));
  if (root->random()->size() != message.random.size()) return flat::out_of_range("random", "must have 4 words");
  for (uint32_t i = 0; i < message.random.size(); ++i) {
    message.random[i] = flat::element(*root->random(), i);
  }
  if (root->newest_models() != nullptr) {
    if (root->newest_models()->size() > limits::kJobsRememberedMax) {
      return flat::out_of_range("newest_models", "has more than 1024 entries");
    }
    for (const state::NewestModel* entry : *root->newest_models()) {
      COT_TRY(parse(*entry, message));
    }
  }
  message.rounds_done = root->rounds_done();
  COT_ASSIGN(message.plan, flat::bytes(root->plan(), "plan", limits::kPlanBytesMax, 0));
  COT_ASSIGN(message.spent, parse(root->spent()));
  if (root->openings() != nullptr) {
    if (root->openings()->size() > kOpeningsRememberedMax) {
      return flat::out_of_range("openings", "has more than 256 entries");
    }
    for (const state::ModelOpenings* entry : *root->openings()) COT_TRY(parse(*entry, message));
  }
  message.has_opened = root->has_opened();
  if (root->log() != nullptr) {
    COT_ASSIGN(message.log, flat::parse(*root->log()));
  }
  COT_ASSIGN(message.keys.retiring, flat::parse(root->retiring_keys()));
  if (root->states() != nullptr) {
    if (root->states()->size() > kStatesKeptMax) return flat::out_of_range("states", "has more than 16 entries");
    for (const state::KeptState* entry : *root->states()) COT_TRY(parse(*entry, message));
  }
  if (root->staged() != nullptr) {
    COT_ASSIGN(message.staged, parse(*root->staged()));
  }
  COT_ASSIGN(message.late_since, flat::wall_time(root->late_since_unix_ms(), "late_since"));
  if (root->joined() != nullptr) {
    COT_ASSIGN(message.joined, flat::parse(*root->joined()));
  }
  message.joined_weight = root->joined_weight();
  if (!(message.joined_weight >= 0 && message.joined_weight <= 1)) {
    return flat::out_of_range("joined_weight", "must be between 0 and 1");
  }
  message.has_masked = root->has_masked();
  if (root->refusal() != nullptr) {
    COT_ASSIGN(message.refusal, flat::parse(*root->refusal()));
  }
  return message;
}

}  // namespace coterie
