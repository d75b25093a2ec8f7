#include "device_sdk/client/gate_met.h"

#include "device_sdk/client/met_gate.h"

namespace coterie {
namespace {

// What a server says to a device that it sends away begins with the gate's name (DeviceGateWords::sentence).
DeviceGate gate_of(const RetryWindow& window) {
  const std::string_view reason = window.reason;
  const std::optional<DeviceGate> gate = device_gate_from(reason.substr(0, reason.find(':')));
  return gate && *gate < kFirstWithTicket ? *gate : DeviceGate::no_round;
}

// Whether the server has not judged what was sent.
bool is_on_the_way(ErrorCode code) {
  return code == ErrorCode::unavailable || code == ErrorCode::timed_out || code == ErrorCode::overloaded ||
         code == ErrorCode::rate_limited;
}

MetGate failed(const Error& error) { return {.gate = DeviceGate::failed, .reason = std::string(error.name())}; }

MetGate of_update(const Error& error) {
  if (error.code() == ErrorCode::round_closed || error.code() == ErrorCode::ticket_expired)
    return {.gate = DeviceGate::late};
  if (is_on_the_way(error.code())) return failed(error);
  return {.gate = DeviceGate::update_refused, .reason = std::string(error.name())};
}

struct Meeting {
  const ParticipantState& after;
  const std::optional<Error>& error;

  // A plan that was judged: taken, refused for a reason, or not to be had.
  std::optional<MetGate> of_plan(const Failure* failure) const {
    if (failure != nullptr) return failed(failure->error);
    if (after.assignment) {
      if (after.phase == ParticipantPhase::assigned) return std::nullopt;  // a proof is asked for first
      return MetGate{.gate = DeviceGate::downloaded};
    }
    if (!error) return std::nullopt;
    return MetGate{.gate = DeviceGate::plan_refused, .reason = std::string(error->reason())};
  }

  std::optional<MetGate> operator()(const EnrollAnswered& event) const {
    const auto* const failure = std::get_if<Failure>(&event.outcome);
    if (failure != nullptr)
      return MetGate{.gate = DeviceGate::not_enrolled, .reason = std::string(failure->error.name())};
    return MetGate{.gate = DeviceGate::waiting};  // it asks, and has no answer yet
  }
  std::optional<MetGate> operator()(const CheckInAnswered& event) const {
    if (const auto* window = std::get_if<RetryWindow>(&event.outcome))
      return MetGate{.gate = gate_of(*window), .detail = window->reason};
    if (const auto* failure = std::get_if<Failure>(&event.outcome)) return failed(failure->error);
    if (after.joined) return MetGate{.gate = DeviceGate::joined};
    if (after.assignment) return MetGate{.gate = DeviceGate::ticket};
    return error ? std::optional(failed(*error)) : std::nullopt;  // the assignment did not hold
  }
  std::optional<MetGate> operator()(const PlanFetched& event) const {
    return of_plan(std::get_if<Failure>(&event.outcome));
  }
  std::optional<MetGate> operator()(const LogProofFetched& event) const {
    return of_plan(std::get_if<Failure>(&event.outcome));
  }
  std::optional<MetGate> operator()(const ModelFetched&) const {
    if (after.phase == ParticipantPhase::training) return MetGate{.gate = DeviceGate::downloaded};
    return error ? std::optional(failed(*error)) : std::nullopt;
  }
  std::optional<MetGate> operator()(const TrainingEnded& event) const {
    if (!event.outcome) return failed(event.outcome.error());
    return MetGate{.gate = DeviceGate::uploading};
  }
  std::optional<MetGate> operator()(const UploadAnswered& event) const {
    if (const auto* failure = std::get_if<Failure>(&event.outcome)) return of_update(failure->error);
    return MetGate{.gate = DeviceGate::counted};
  }
  std::optional<MetGate> operator()(const AggregationAnswered& event) const {
    if (const auto* failure = std::get_if<Failure>(&event.outcome)) return of_update(failure->error);
    const auto* const step = std::get_if<AggregationStep>(&event.outcome);
    if (step != nullptr && *step == AggregationStep::done) return MetGate{.gate = DeviceGate::counted};
    return std::nullopt;
  }
  std::optional<MetGate> operator()(const HeldBack& event) const {
    return MetGate{.gate = DeviceGate::held, .reason = std::string(event.error.reason())};
  }
  std::optional<MetGate> operator()(const KeysStated&) const { return std::nullopt; }
};

bool is_bad(DeviceGate gate) {
  return gate == DeviceGate::not_enrolled || gate == DeviceGate::held || gate == DeviceGate::failed ||
         gate == DeviceGate::plan_refused || gate == DeviceGate::update_refused || gate == DeviceGate::late;
}

}  // namespace

std::optional<MetGate> gate_met(const ParticipantEvent& event, const RoundKey& before, const ParticipantState& after,
                                const std::optional<Error>& error, WallTime now) {
  std::optional<MetGate> met = std::visit(Meeting{after, error}, event);
  if (!met) return met;
  met->since = now;
  // Before a ticket there is no attempt; behind a check-in it is the new one.
  const RoundKey own = after.assignment ? after.assignment->round : before;
  if (met->gate >= kFirstWithTicket || before != RoundKey{}) met->round = after.joined ? after.joined->round : own;
  if (met->detail.empty() && is_bad(met->gate)) {
    const auto* const held = std::get_if<HeldBack>(&event);
    if (held != nullptr) met->detail = held->error.message();
    else if (error) met->detail = error->message();
  }
  return met;
}

}  // namespace coterie
