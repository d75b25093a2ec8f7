#include "tests/simulation/sessions/session_device.h"

#include <algorithm>

#include "secure/secagg/fault.h"
#include "tests/simulation/sessions/careless.h"
#include "tests/support/wide_lanes.h"

namespace coterie::simulation {
namespace {

constexpr Millis kAnswerMax{5'000};  // then the same is sent again
constexpr Millis kPollMax{400};
constexpr Millis kRestartMax{3'000};

}  // namespace

SessionDevice::SessionDevice(SessionWorld& world, uint32_t who, Mischief mischief)
    : world_(world), who_(who), mischief_(mischief), parameters_(world.parameters()) {
  parameters_.context = world.server().context_for(who);
  update_.resize(parameters_.lane_count);
  for (uint64_t& lane : update_) lane = world.prng().next() & test::ring_mask(parameters_.ring_bits);
}

void SessionDevice::start() {
  is_started_ = true;
  saved_.seed = world_.random_bytes(32);
  Prng& prng = world_.prng();
  const Millis longest = world_.options().ends_within() - Millis(30'000);
  if (prng.chance(world_.options().leaves)) {
    // Most sessions are over long before the longest, so most moments are early ones.
    world_.queue().after(world_.some_delay(prng.chance(0.8) ? longest / 8 : longest), [this] { finish(nullptr); });
  }
  // Its ticket's time.
  world_.queue().after(longest, [this] {
    const Error late(ErrorCode::ticket_expired, "the ticket's time is over");
    finish(&late);
  });
  boot();
}

void SessionDevice::boot() {
  answer_.reset();
  slot_.reset();
  view_.reset();
  inbox_.reset();
  unsaved_.reset();
  Result<secagg::Client> client =
      secagg::Client::make(parameters_, Secret<32>(std::span<const uint8_t, 32>(saved_.seed.data(), 32)),
                           {.signer = &world_.signer(who_), .certificate = {}}, world_.certificate_check());
  COT_ASSERT(client.has_value());
  client_.emplace(std::move(*client));
  if (is_honest()) world_.oracle().advertised(client_->advert());
  answer_ = client_->advert();
  next_ = CohortQuestion::roster;
  for (const ServerMessage& message : saved_.messages) {
    if (const Status acted = act(message); !acted) return finish(&acted.error());
  }
  send();
}

void SessionDevice::crash() {
  if (!is_started_ || is_over_) return;
  ++world_.oracle().verdict().crashes;
  client_.reset();
  request_ = 0;
  if (world_.prng().chance(world_.options().state_loss)) saved_ = {.seed = world_.random_bytes(32), .messages = {}};
  world_.queue().after(world_.some_delay(kRestartMax), [this, life = ++life_] {
    if (life == life_ && !is_over_) boot();
  });
}

void SessionDevice::finish(const Error* error) {
  if (is_over_) return;
  is_over_ = true;
  ++life_;
  request_ = 0;
  if (error == nullptr) return;
  world_.oracle().trace(error->message());
  if (is_honest() && secagg::fault_of(*error)) ++world_.oracle().verdict().faults;
}

// ---- Requests

void SessionDevice::send() {
  const uint64_t request = request_ = ++requests_;
  world_.queue().after(kAnswerMax, [this, request] {
    if (request == request_) send();
  });
  if (answer_) return send_answer(request);
  world_.send([this, request, question = *next_] {
    world_.server().ask(who_, question, [this, request](Answer answer) {
      world_.send([this, request, answer = std::move(answer)] { answered(request, answer); });
    });
  });
}

void SessionDevice::send_answer(uint64_t request) {
  std::vector<DeviceMessage> messages = {*answer_};
  if (!is_honest()) messages = make_mischief(mischief_, world_.prng(), parameters_, told_, *answer_);
  for (DeviceMessage& message : messages) {
    world_.send([this, request, message = std::move(message)] {
      world_.server().tell(who_, message, [this, request](Answer answer) {
        world_.send([this, request, answer = std::move(answer)] { answered(request, answer); });
      });
    });
  }
}

void SessionDevice::answered(uint64_t request, Answer answer) {
  if (request != request_ || is_over_) return;
  request_ = 0;
  const auto again = [this] {
    world_.queue().after(world_.some_delay(kPollMax) + Millis(1), [this, life = life_] {
      if (life == life_ && request_ == 0 && !is_over_) send();
    });
  };
  if (const auto* error = std::get_if<Error>(&answer)) {
    if (traits(error->code()).retry == RetryClass::backoff) return again();
    return finish(error);
  }
  if (std::holds_alternative<Heard>(answer)) {
    if (!answer_) return again();
    answer_.reset();
    if (unsaved_) saved_.messages.push_back(*std::exchange(unsaved_, std::nullopt));
    return next_ ? send() : finish(nullptr);
  }
  const auto* message = std::get_if<ServerMessage>(&answer);
  if (message == nullptr || answer_ || !is_awaited(*message)) return again();
  take(*message);
}

// What AggregationSession of the SDK takes for an answer: another message is as if none had come.
bool SessionDevice::is_awaited(const ServerMessage& message) const {
  if (!next_) return false;
  if (const auto* slot = std::get_if<RosterSlot>(&message)) return next_ == CohortQuestion::roster && slot_ != *slot;
  switch (*next_) {
    case CohortQuestion::roster: return std::holds_alternative<RosterView>(message);
    case CohortQuestion::share_inbox: return std::holds_alternative<ShareInbox>(message);
    case CohortQuestion::confirm_request: return std::holds_alternative<ConfirmRequest>(message);
    case CohortQuestion::unmask_request: return std::holds_alternative<UnmaskRequest>(message);
  }
  return false;
}

void SessionDevice::take(const ServerMessage& message) {
  if (world_.options().mutant == SessionMutant::acts_before_saving) unsaved_ = message;
  else saved_.messages.push_back(message);
  if (world_.prng().chance(world_.options().crash_in_step)) return crash();
  if (const Status acted = act(message); !acted) return finish(&acted.error());
  send();
}

// No shell hands its machine what it did not ask for; one that does must lose no more than the session.
void SessionDevice::push(const ServerMessage& message) {
  if (!client_ || (is_over_ && next_)) return;
  const bool answers = world_.options().mutant == SessionMutant::answers_twice;
  if (is_over_ && answers) (void)act(message);
  if (answers) return;
  saved_.messages.push_back(message);
  if (const Status acted = act(message); !acted) return finish(&acted.error());
  if (!is_over_) send();
}

// ---- Steps

Status SessionDevice::act(const ServerMessage& message) {
  return std::visit([this](const auto& m) { return act_on(m); }, message);
}

Status SessionDevice::act_on(const RosterSlot& slot) {
  COT_ASSIGN(answer_, client_->choose(slot));
  slot_ = slot;
  return {};
}

Status SessionDevice::act_on(const RosterView& view) {
  COT_ASSIGN(SealedShares shares, client_->share(view));
  view_ = view;
  if (mischief_ == Mischief::deals_badly) deal_badly(parameters_, saved_.seed, view, shares);
  answer_ = std::move(shares);
  next_ = CohortQuestion::share_inbox;
  return {};
}

Status SessionDevice::act_on(const ShareInbox& inbox) {
  COT_ASSIGN(const secagg::Masking masking, client_->mask(inbox));
  inbox_ = inbox;
  MaskedUpdate update{.head = masking.head(), .lanes = update_};
  update.lanes.resize(update.head.lane_count);
  COT_TRY(test::with_lanes(secagg::lane_bits(parameters_), update.lanes, [&](auto lanes) -> Status {
    masking.apply(lanes);
    return {};
  }));
  update.head.lanes = test::lanes_digest(update.lanes);
  if (is_honest()) world_.oracle().masked(client_->session(), *view_);
  answer_ = std::move(update);
  next_ = parameters_.is_active() ? CohortQuestion::confirm_request : CohortQuestion::unmask_request;
  return {};
}

Status SessionDevice::act_on(const ConfirmRequest& request) {
  COT_ASSIGN(answer_, client_->confirm(request));
  if (is_honest()) world_.oracle().confirmed(who_, request);
  next_ = CohortQuestion::unmask_request;
  return {};
}

Status SessionDevice::act_on(const UnmaskRequest& request) {
  COT_ASSIGN(Unmasking unmasking, unmask(request));
  if (is_honest()) world_.oracle().opened(who_, request, unmasking);
  answer_ = std::move(unmasking);
  next_.reset();
  return {};
}

Result<Unmasking> SessionDevice::unmask(const UnmaskRequest& request) {
  const SessionMutant mutant = world_.options().mutant;
  const bool is_careless = mutant == SessionMutant::no_confirmations || mutant == SessionMutant::answers_twice;
  if (!is_careless || !view_ || !inbox_) return client_->unmask(request);
  return unmask_unchecked(parameters_, saved_.seed, *view_, *inbox_, request);
}

}  // namespace coterie::simulation
