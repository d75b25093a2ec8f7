#include "device_sdk/agent/agent.h"

#include <charconv>
#include <cstdlib>

#include "base/os/clock.h"
#include "device_sdk/agent/count_examples.h"
#include "device_sdk/agent/delta_download.h"
#include "device_sdk/agent/given_pass.h"
#include "device_sdk/agent/late_update.h"
#include "device_sdk/agent/model_download.h"
#include "device_sdk/client/met_gate.h"
#include "device_sdk/client/state_keeping.h"
#include "proto/codec/codec.h"
#include "proto/messages/group_weights.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/self_test.h"
#include "secure/identity/key_file.h"

namespace coterie {
namespace {

constexpr uint64_t kUpdateBytesMax = 1ull << 34;
constexpr uint64_t kClockBytesMax = 32;
constexpr Millis kClockKeptFrom{1'000};
constexpr Millis kHoldPause{60'000};                  // until a device that is held back looks again by itself
constexpr uint64_t kMarginFirstUs = 1'000'000;        // of CPU time, until an action was seen to take more
constexpr int64_t kClockMsMax = 253'402'300'799'999;  // as the server may say at most (device_api.cc)

Result<std::shared_ptr<const Signer>> identity_of(const AgentSettings& settings) {
  if (settings.signer) return settings.signer;
  COT_ASSIGN(std::unique_ptr<Signer> own,
             load_or_create_signer(settings.state_dir + "/identity.key", settings.key_algorithm));
  return std::shared_ptr<const Signer>(std::move(own));
}

RoundKey round_of(const ParticipantState& state) { return state.assignment ? state.assignment->round : RoundKey(); }

// By how much the server's clock was ahead when that was kept: 0 if it was not.
Millis ahead_of(const std::string& path) {
  const Result<Bytes> kept = os::read_file(path, kClockBytesMax);
  if (!kept) return Millis(0);
  const std::string_view text = as_text(*kept);
  int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  return error == std::errc() && std::abs(ms) <= kClockMsMax ? Millis(ms) : Millis(0);
}

}  // namespace

Result<std::unique_ptr<Agent>> Agent::open(const AgentSettings& settings, Transport& transport,
                                           ExampleSource& examples) {
  COT_TRY(validate(settings.policy.privacy));
  COT_TRY(validate(settings.policy.required));
  if (settings.group > kGroupsMax) {
    return Error(ErrorCode::invalid_argument, "group must be at most " + std::to_string(kGroupsMax) +
                                                  ", or 0 for none, not " + std::to_string(settings.group));
  }
  COT_TRY(crypto_self_test());
  // Before anything is read: two clients on one directory would each answer a session, in different words.
  COT_ASSIGN(os::File lock, lock_directory(settings.state_dir));
  COT_ASSIGN(std::shared_ptr<const Signer> signer, identity_of(settings));
  COT_ASSIGN(CertificateStore certificates,
             CertificateStore::open(settings.state_dir, settings.authority_key, settings.certificate, *signer));
  COT_ASSIGN(WorkMeter meter, WorkMeter::open(settings.state_dir, settings.limits, os::wall_now()));
  SessionFiles files(settings.state_dir);
  COT_ASSIGN(ParticipantState state, files.load(settings.seed));
  if (settings.signer && state.phase != ParticipantPhase::unenrolled &&
      state.device != device_id_of(signer->public_key())) {
    return Error(ErrorCode::conflict, "state directory " + settings.state_dir +
                                          " was enrolled with another key than the app's: use that one, or another "
                                          "directory");
  }
  std::unique_ptr<Agent> agent(new Agent(settings, std::move(lock), std::move(signer), std::move(certificates),
                                         std::move(meter), std::move(files), std::move(state), transport, examples));
  if (!agent->state().assignment) agent->clean_up();
  return agent;
}

Agent::Agent(AgentSettings settings, os::File lock, std::shared_ptr<const Signer> signer, CertificateStore certificates,
             WorkMeter meter, SessionFiles files, ParticipantState state, Transport& transport, ExampleSource& examples)
    : settings_(std::move(settings)),
      lock_(std::move(lock)),
      files_(std::move(files)),
      signer_(std::move(signer)),
      certificates_(std::move(certificates)),
      vault_(settings_.state_dir),
      states_(settings_.state_dir),
      kept_(settings_.state_dir),
      meter_(std::move(meter)),
      transport_(transport, meter_),
      api_(transport_, *signer_),
      ahead_saved_(ahead_of(path("clock"))),
      examples_(examples),
      machine_{policy_for(state.population), std::move(state)},
      margin_us_(kMarginFirstUs) {  // braces: in this order
  api_.trust(machine_.state().keys);
}

Agent::~Agent() { (void)meter_.keep(); }

DeviceClocks Agent::clocks() const { return {.own = os::wall_now(), .server = api_.server_now()}; }

// A plan that was kept is judged as the machine is made.
ParticipantPolicy Agent::policy_for(const Population& population) {
  api_.set_server_ahead(ahead_saved_);
  ParticipantPolicy policy = settings_.policy;
  policy.privacy.uncertified = certificates_.obstacle(population, clocks());
  return policy;
}

// A device that is started again does not wait by its own clock for what it noted by the server's.
Status Agent::keep_clock() {
  api_.trust(machine_.state().keys);
  if (std::chrono::abs(api_.server_ahead() - ahead_saved_) < kClockKeptFrom) return {};  // no write a round
  COT_TRY(os::write_file_atomically(path("clock"), as_bytes(std::to_string(api_.server_ahead().count())),
                                    os::Durability::content));
  ahead_saved_ = api_.server_ahead();
  return {};
}

std::string Agent::training_file(const RoundKey& key, const char* what) {
  return "train-" + std::to_string(key.round.value()) + "-" + std::to_string(key.attempt.value()) + "." + what;
}

Result<AgentProgress> Agent::step() {
  using Activity = AgentProgress::Activity;
  AgentProgress progress;
  // The session must not run ahead of what a restart would find.
  // A save that failed is tried again here. Until it is durable nothing is said that follows from it.
  if (!files_.saved()) COT_TRY(files_.save(machine_.state()));
  const ParticipantAction action = machine_.next(api_.server_now());
  std::optional<ParticipantEvent> event;
  if (const auto* wait = std::get_if<DoWait>(&action)) {
    progress.wait = std::max(Millis(0), wait->until - api_.server_now());
  } else if (const auto* stop = std::get_if<DoStop>(&action)) {
    progress.activity = Activity::stopped;
    progress.error = stop->error;
  } else {
    COT_ASSIGN(event, work(action, progress));
  }
  if (training_) {
    progress.training = training_->trainer.summary();
    progress.validation = training_->trainer.validation();
  }
  if (event) {
    const uint64_t done_before = machine_.state().rounds_done;
    const RoundKey round_before = round_of(machine_.state());
    // Before the answer that they came with: it may be signed by the key that they name.
    std::vector<KeyStatement> stated = api_.take_key_statements();
    if (!stated.empty()) machine_.step(KeysStated{std::move(stated)}, api_.server_now());
    machine_.set_uncertified(certificates_.obstacle(machine_.state().population, clocks()));
    machine_.set_means(conditions(), meter_.left(os::wall_now()));
    machine_.step(*event, api_.server_now());
    // One step may lead from an update that is too late to new work: what was trained for the one is not for the other.
    const bool round_ended = round_before != RoundKey() && round_of(machine_.state()) != round_before;
    if (round_ended) training_.reset(), given_ = {}, counting_.reset();
    if (round_ended || (machine_.state().is_late() && !machine_.state().joined)) aggregation_.reset();
    // Saved before the files go: a restart in between finds litter, not a round without its model.
    COT_TRY(files_.save(machine_.state()));
    if (round_ended) clean_up();
    COT_TRY(keep_clock());
    keep_gate(*event, round_before);
    if (machine_.state().rounds_done == done_before) progress.error = machine_.last_error();
  }
  progress.rounds_done = machine_.state().rounds_done;
  progress.refused_plan = machine_.take_refused_plan();
  return progress;
}

Result<uint64_t> Agent::begin_work(bool is_training) {
  COT_TRY(check_conditions(machine_.required(), conditions()));
  if (!meter_.limits_cpu()) return 0;
  const uint64_t left = meter_.left(os::wall_now()).cpu_us;
  const uint64_t slice = is_training ? static_cast<uint64_t>(settings_.train_slice.count()) * 1000 : 0;
  const uint64_t reserved = std::max(margin_us_, std::min(left, slice + margin_us_));
  // Taken from the budget before the work and corrected after it: a device that is killed in the midst of it has paid,
  // and cannot be made to work for nothing by being killed.
  COT_TRY(meter_.reserve({.cpu_us = reserved}, os::wall_now()));
  return reserved;
}

Result<std::optional<ParticipantEvent>> Agent::work(const ParticipantAction& action, AgentProgress& progress) {
  const auto held = [&](const Error& error) {
    progress.activity = AgentProgress::Activity::held;
    progress.wait = kHoldPause;
    return std::optional<ParticipantEvent>(HeldBack{error});
  };
  (void)meter_.take_refusal();
  const Result<uint64_t> reserved = begin_work(std::holds_alternative<DoTrain>(action));
  if (!reserved) {
    const Error& error = reserved.error();
    if (error.code() == ErrorCode::refused && !error.reason().empty()) return held(error);
    return error;
  }
  std::optional<CpuCharge> charge;
  if (meter_.limits_cpu()) charge_ = &charge.emplace(meter_, *reserved);
  Result<std::optional<ParticipantEvent>> event = perform_any(action, progress);
  charge_ = nullptr;
  if (charge && charge->used_us() > *reserved) margin_us_ = 2 * charge->used_us();
  const std::optional<Error> refusal = meter_.take_refusal();
  return event && refusal ? held(*refusal) : std::move(event);
}

Result<std::optional<ParticipantEvent>> Agent::perform_any(const ParticipantAction& action, AgentProgress& progress) {
  using Activity = AgentProgress::Activity;
  std::optional<ParticipantEvent> event;
  if (const auto* enroll = std::get_if<DoEnroll>(&action)) {
    progress.activity = Activity::enrolled;
    COT_ASSIGN(event, perform(*enroll));
  } else if (const auto* check_in = std::get_if<DoCheckIn>(&action)) {
    progress.activity = Activity::checked_in;
    COT_ASSIGN(event, perform(*check_in));
  } else if (const auto* plan = std::get_if<DoFetchPlan>(&action)) {
    progress.activity = Activity::fetched_plan;
    COT_ASSIGN(event, perform(*plan));
  } else if (const auto* proof = std::get_if<DoFetchLogProof>(&action)) {
    progress.activity = Activity::fetched_plan;  // what it has to show is a part of it
    COT_ASSIGN(event, perform(*proof));
  } else if (const auto* model = std::get_if<DoFetchModel>(&action)) {
    progress.activity = Activity::fetched_model;
    COT_ASSIGN(event, perform(*model));
  } else if (const auto* training = std::get_if<DoTrain>(&action)) {
    progress.activity = Activity::trained;
    COT_ASSIGN(event, train(*training));
  } else if (const auto* upload = std::get_if<DoUpload>(&action)) {
    progress.activity = Activity::uploaded;
    COT_ASSIGN(event, perform(*upload));
  } else if (const auto* aggregation = std::get_if<DoAggregate>(&action)) {
    progress.activity = Activity::aggregated;
    COT_ASSIGN(event, perform(*aggregation));
  }
  return event;
}

// Between two steps of training, the next of which takes so much CPU time at most.
bool Agent::may_train_on(uint64_t step_us_max) const {
  if (!check_conditions(machine_.required(), conditions())) return false;
  return charge_ == nullptr || charge_->used_us() + step_us_max <= charge_->reserved_us();
}

// The round is over for this device: what belonged to it goes. Nobody needs these files, so failures are ignored.
void Agent::clean_up() {
  (void)vault_.erase();  // first: what is removed behind it is worthless by then. If it stays, the next erase has it
  (void)SessionLog(settings_.state_dir).remove();
  states_.keep_only(machine_.state());
  kept_.drop_parts();
  const Result<std::vector<std::string>> names = os::list_directory(settings_.state_dir);
  if (!names) return;
  for (const std::string& name : *names) {
    const bool of_round = name.starts_with("model-") || name.starts_with("control-") || name.starts_with("delta-") ||
                          name.starts_with("train-") || name.starts_with(kUpdateFile);
    if (of_round) (void)os::remove_file(path(name));
  }
}

Result<ParticipantEvent> Agent::perform(const DoEnroll&) {
  if (settings_.enrollment_token.empty()) {
    const Error missing(
        ErrorCode::invalid_argument,
        "this device is not enrolled yet: get an enrollment token from the operator and set enrollment_token");
    return ParticipantEvent(EnrollAnswered{Failure{missing, {}}});
  }
  return ParticipantEvent(EnrollAnswered{api_.enroll(settings_.enrollment_token, settings_.sdk_version)});
}

Result<ParticipantEvent> Agent::perform(const DoCheckIn& action) {
  // A plan with groups is nothing for who is in none: so it is not drawn for one.
  const PlanFeatures features = settings_.features & ~(settings_.group == 0 ? plan_feature::kGroups : 0);
  const CheckinRequest request{action.population, settings_.sdk_version, static_cast<uint32_t>(action.hold.count()),
                               action.refusal,    action.held,           features};
  return ParticipantEvent(CheckInAnswered{api_.check_in(machine_.state().device, request)});
}

// The rounds of a job mostly have one plan. What it is named by is its digest, and the machine checks it either way.
Result<ParticipantEvent> Agent::perform(const DoFetchPlan& action) {
  if (newest_plan_ && newest_plan_->first == action.plan) {
    return ParticipantEvent(PlanFetched{Outcome<Bytes>(newest_plan_->second)});
  }
  Outcome<Bytes> plan = api_.fetch_plan(machine_.state().device, action.plan, action.bytes_max);
  if (const auto* bytes = std::get_if<Bytes>(&plan); bytes != nullptr && content_digest(*bytes) == action.plan) {
    newest_plan_.emplace(action.plan, *bytes);
  }
  return ParticipantEvent(PlanFetched{std::move(plan)});
}

Result<ParticipantEvent> Agent::perform(const DoFetchLogProof& action) {
  return ParticipantEvent(LogProofFetched{api_.fetch_log_proof(machine_.state().device, action.step)});
}

Result<ParticipantEvent> Agent::perform(const DoFetchModel& action) {
  COT_ASSIGN(Outcome<Digest> outcome, fetch_model({api_, kept_, settings_.state_dir}, machine_.state().device, action,
                                                  model_path(action.job, action.download, action.model)));
  const auto* model = std::get_if<Digest>(&outcome);
  if (model != nullptr && *model == action.model && !action.further.empty()) return fetch_further(action);
  if (!action.control || model == nullptr || *model != action.model) {
    return ParticipantEvent(ModelFetched{std::move(outcome)});
  }
  COT_ASSIGN(Outcome<Digest> control, download_control(api_, machine_.state().device, *action.control,
                                                       action.control_values, control_path(*action.control)));
  if (auto* failure = std::get_if<Failure>(&control)) return ParticipantEvent(ModelFetched{std::move(*failure)});
  return ParticipantEvent(ModelFetched{std::move(outcome), std::get<Digest>(control)});
}

Result<ParticipantEvent> Agent::perform(const DoUpload& action) {
  const Result<Bytes> update = vault_.read_file(kUpdateFile, kUpdateBytesMax);
  // never: nothing is left that any round could count.
  const auto gone = [] {
    return ParticipantEvent(UploadAnswered{Failure{Error(ErrorCode::data_loss, "the stored update is gone"), {}}});
  };
  if (!update) return gone();
  if (!action.weight) {
    return ParticipantEvent(UploadAnswered{api_.upload(machine_.state().device, action.assignment, *update)});
  }
  const Result<Bytes> late = late_update(*update, action.assignment.round, *action.weight);
  if (!late) return gone();
  return ParticipantEvent(UploadAnswered{api_.upload(machine_.state().device, action.assignment, *late)});
}

// The authority's newest list, before a session in which others are judged with it. Why there can be none, if so; an
// error is the disk's.
Result<std::optional<Failure>> Agent::update_list(const Plan& plan) {
  if (plan.privacy.level < SecurityLevel::active || !certificates_.needs_list()) return std::optional<Failure>();
  const Outcome<Bytes> fetched = api_.fetch_revocations(machine_.state().device, certificates_.list_number());
  if (const auto* failure = std::get_if<Failure>(&fetched)) {
    if (failure->error.code() != ErrorCode::not_found) return std::optional(*failure);  // none that is newer is fine
  } else if (const Status taken = certificates_.take_list(std::get<Bytes>(fetched)); !taken) {
    if (taken.error().code() != ErrorCode::refused) return taken.error();
    return std::optional(Failure{taken.error(), {}});
  }
  const Status current = certificates_.list_is_current(clocks());
  return current ? std::optional<Failure>() : std::optional(Failure{current.error(), {}});
}

Result<ParticipantEvent> Agent::perform(const DoAggregate& action) {
  if (!aggregation_) {
    COT_ASSIGN(const std::optional<Failure> without_list, update_list(action.plan));
    if (without_list) return ParticipantEvent(AggregationAnswered{*without_list});
    // By the time at which it is asked: a session may take long.
    auto is_good = [this](const DeviceIdentity& other) {
      return certificates_.judge(other, machine_.state().population, clocks());
    };
    COT_ASSIGN(auto opened, AggregationSession::open({.device = machine_.state().device,
                                                      .assignment = action.assignment,
                                                      .plan = action.plan,
                                                      .directory = settings_.state_dir,
                                                      .update_file = kUpdateFile,
                                                      .signer = signer_.get(),
                                                      .certificate = certificates_.certificate(),
                                                      .certificate_is_good = std::move(is_good),
                                                      .has_opened = machine_.state().has_opened,
                                                      .has_masked = machine_.state().has_masked,
                                                      .weight = action.weight}));
    if (auto* failure = std::get_if<Failure>(&opened))
      return ParticipantEvent(AggregationAnswered{std::move(*failure)});
    aggregation_ = std::move(std::get<std::unique_ptr<AggregationSession>>(opened));
  }
  Result<AggregationAnswered> answered = aggregation_->exchange(api_);
  if (!answered) {
    aggregation_.reset();  // what it had told nobody yet is made again of the files
    return answered.error();
  }
  return ParticipantEvent(std::move(*answered));
}

}  // namespace coterie
