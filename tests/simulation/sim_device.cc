#include "tests/simulation/sim_device.h"

#include "proto/codec/codec.h"
#include "tests/simulation/mutants.h"
#include "tests/simulation/sim_node.h"

namespace coterie::simulation {
namespace {

ParticipantPolicy quick_policy() {
  ParticipantPolicy policy;
  policy.backoff_first = Millis(100);
  policy.backoff_max = Millis(10'000);
  policy.checkin_hold = Millis(8'000);
  policy.refusal_pause = Millis(1'000);
  return policy;
}

constexpr Millis kAnswerMax{35'000};
constexpr Millis kMaskedAnswerMax{5'000};  // what is lost should not cost a phase

}  // namespace

SimDevice::SimDevice(World& world, uint32_t index) : world_(world), index_(index) {
  id_.bytes[0] = static_cast<uint8_t>(index * 37);
  id_.bytes[14] = static_cast<uint8_t>(index >> 8);
  id_.bytes[15] = static_cast<uint8_t>(index);
  ParticipantState state;
  state.random = Prng::derived(world.options().seed, 1000 + index).state();
  saved_ = encode(state);
  machine_.emplace(quick_policy(), state);
  if (!world.options().is_masked()) return;
  signer_ = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, static_cast<uint8_t>(index + 1))));
}

void SimDevice::crash() {
  ++life_;
  ++world_.oracle().verdict().crashes;
  machine_.reset();
  session_.reset();
  request_ = 0;
  world_.queue().after(world_.some_delay(Millis(10'000)), [this, life = life_] {
    if (life != life_) return;
    Result<ParticipantState> state = decode_participant_state(saved_);
    COT_ASSERT(state.has_value());
    machine_.emplace(quick_policy(), std::move(*state));
    act();
  });
}

void SimDevice::act() {
  if (!machine_) return;
  action_ = machine_->next(world_.queue().wall());
  if (const auto* wait = std::get_if<DoWait>(&action_)) {
    world_.queue().after(std::max(Millis(1), wait->until - world_.queue().wall()), [this, life = life_] {
      if (life == life_) act();
    });
  } else if (std::holds_alternative<DoEnroll>(action_)) {
    enroll();
  } else if (const auto* checked_in = std::get_if<DoCheckIn>(&action_)) {
    check_in(*checked_in);
  } else if (const auto* plan = std::get_if<DoFetchPlan>(&action_)) {
    fetch(true, plan->plan);
  } else if (std::holds_alternative<DoFetchLogProof>(action_)) {
    world_.oracle().problem(&Verdict::stuck, "a proof of a log was asked for, and no plan of this world has one");
  } else if (const auto* model = std::get_if<DoFetchModel>(&action_)) {
    fetch(false, model->model);
  } else if (const auto* train = std::get_if<DoTrain>(&action_)) {
    const std::optional<Digest> before = train->state ? std::optional(train->state->content) : std::nullopt;
    if (before) world_.oracle().trains_from(index_, *before);
    const Digest state = world_.oracle().state_made(index_, train->assignment.round, before);
    world_.queue().after(world_.some_delay(world_.options().train_max), [this, state, life = life_] {
      if (life == life_) finish(TrainingEnded{{}, state});
    });
  } else if (const auto* uploaded = std::get_if<DoUpload>(&action_)) {
    upload(*uploaded);
  } else if (const auto* aggregated = std::get_if<DoAggregate>(&action_)) {
    aggregate(*aggregated);
  } else {
    world_.oracle().problem(&Verdict::stuck, "device stopped: " + std::get<DoStop>(action_).error.message());
  }
}

void SimDevice::finish(ParticipantEvent event) {
  alter(world_.options().mutant, event);
  const ParticipantState before = machine_->state();
  machine_->step(event, world_.queue().wall());
  if (std::holds_alternative<TrainingEnded>(event)) ++trainings_;
  const bool had_update = world_.options().is_buffered && before.phase >= ParticipantPhase::trained;
  const bool has_update = machine_->state().phase >= ParticipantPhase::trained;
  const bool has_receipt = session_ && session_->has_receipt();
  if (had_update && !has_update && !has_receipt && machine_->state().rounds_done == before.rounds_done) {
    world_.oracle().thrown_away(index_, {before.assignment->round, trainings_});
  }
  std::optional<ParticipantState> broken =
      altered(world_.options().mutant, event, machine_->state(), world_.queue().wall());
  if (broken) machine_.emplace(quick_policy(), *std::move(broken));
  machine_->check();
  saved_ = encode(machine_->state());
  const ParticipantState& after = machine_->state();
  const bool is_in_session = after.phase == ParticipantPhase::aggregating && (!after.is_late() || after.joined);
  if (session_ && !is_in_session) {
    session_.reset();
    saved_session_ = {};
  }
  act();
}

Millis SimDevice::patience() const { return world_.options().is_masked() ? kMaskedAnswerMax : kAnswerMax; }

uint64_t SimDevice::begin_request(Millis patience) {
  const uint64_t request = world_.prng().next() | 1;
  request_ = request;
  world_.queue().after(patience, [this, request] {
    answered(request, failure_event({Error(ErrorCode::timed_out, "no answer"), {}}));
  });
  return request;
}

void SimDevice::answered(uint64_t request, ParticipantEvent event) {
  if (request != request_ || !machine_) return;
  request_ = 0;
  finish(std::move(event));
}

ParticipantEvent SimDevice::failure_event(const Failure& failure) const {
  if (std::holds_alternative<DoCheckIn>(action_)) return CheckInAnswered{failure};
  if (std::holds_alternative<DoFetchPlan>(action_)) return PlanFetched{failure};
  if (std::holds_alternative<DoFetchLogProof>(action_)) return LogProofFetched{failure};
  if (std::holds_alternative<DoFetchModel>(action_)) return ModelFetched{failure};
  if (std::holds_alternative<DoAggregate>(action_)) return failed(failure);
  return UploadAnswered{failure};
}

void SimDevice::at_some_node(uint64_t request, std::function<void(SimNode&)> arrive) {
  const size_t chosen = world_.prng().below(world_.nodes().size());
  world_.send([this, request, chosen, arrive = std::move(arrive)] {
    SimNode& node = *world_.nodes()[chosen];
    if (node.alive()) return arrive(node);
    world_.send([this, request] {
      answered(request, failure_event({Error(ErrorCode::unavailable, "connection refused"), {}}));
    });
  });
}

void SimDevice::enroll() {
  world_.queue().after(world_.some_delay(Millis(500)), [this, life = life_] {
    if (life != life_) return;
    finish(EnrollAnswered{EnrollReply{id_, Population("default"), world_.signer().public_key()}});
  });
}

void SimDevice::check_in(const DoCheckIn& action) {
  const uint64_t request = begin_request(action.hold + patience());
  at_some_node(request, [this, request, hold = action.hold, held = action.held](SimNode& node) {
    node.check_in(id_, hold, held, [this, request](CheckinAnswer answer) {
      world_.send([this, request, answer = std::move(answer)] {
        if (const auto* assignment = std::get_if<Assignment>(&answer)) {
          answered(request, CheckInAnswered{*assignment});
        } else if (const auto* window = std::get_if<RetryWindow>(&answer)) {
          answered(request, CheckInAnswered{*window});
        } else {
          answered(request, CheckInAnswered{Failure{std::get<Error>(answer), {}}});
        }
      });
    });
  });
}

void SimDevice::fetch(bool plan, const Digest& digest) {
  const uint64_t request = begin_request(patience());
  at_some_node(request, [this, request, plan, digest](SimNode&) {
    world_.send([this, request, plan, digest] {
      if (plan) answered(request, PlanFetched{world_.plan_bytes()});
      else answered(request, ModelFetched{digest});
    });
  });
}

void SimDevice::upload(const DoUpload& action) {
  const uint64_t request = begin_request(patience());
  at_some_node(request, [this, request, ticket = action.assignment.ticket, training = training()](SimNode& node) {
    node.upload(id_, ticket, training, {}, [this, request](UploadAnswer answer) {
      world_.send([this, request, answer = std::move(answer)] {
        if (answer.receipt) return answered(request, UploadAnswered{*answer.receipt});
        answered(request, UploadAnswered{failure_of(answer)});
      });
    });
  });
}

}  // namespace coterie::simulation
