// A simulated device's part of sessions of secure aggregation.
#include "proto/ring/ring_vector.h"
#include "secure/secagg/round_session.h"
#include "tests/simulation/sim_device.h"
#include "tests/simulation/sim_node.h"

namespace coterie::simulation {
namespace {

constexpr Millis kSessionAnswerMax{3'000};

}  // namespace

void SimDevice::aggregate(const DoAggregate& action) {
  if (const Status opened = open_session(action); !opened) return finish(failed({opened.error(), {}}));
  if (session_->to_upload() != nullptr) return upload_masked(action.assignment.ticket);
  std::optional<CohortMessage> told;
  if (session_->to_tell()) {
    told = std::visit(
        [](const auto& message) -> std::optional<CohortMessage> {
          if constexpr (std::is_same_v<std::decay_t<decltype(message)>, MaskedUpdate>) return std::nullopt;
          else return CohortMessage(message);
        },
        *session_->to_tell());
  }
  const uint64_t request = begin_request(kSessionAnswerMax);
  at_some_node(request, [this, request, ticket = action.assignment.ticket, told = std::move(told),
                         asked = session_->to_ask()](SimNode& node) {
    node.exchange(id_, signer_->public_key(), ticket, told, asked, [this, request](Answer answer) {
      world_.send([this, request, answer = std::move(answer)] {
        if (request == request_ && machine_) answered(request, taken(answer));
      });
    });
  });
}

// The seed is fresh for every attempt, and the same for every life of the app.
Status SimDevice::open_session(const DoAggregate& action) {
  const Assignment& of = action.assignment;
  const secagg::SessionParameters parameters =
      secagg::session_parameters(action.plan, of.job, of.round, of.model, of.plan);
  if (session_ && saved_session_.context == parameters.context) return {};
  if (saved_session_.context != parameters.context) {
    saved_session_ = {.context = parameters.context, .seed = Bytes(32), .messages = {}};
    for (uint8_t& byte : saved_session_.seed) byte = static_cast<uint8_t>(world_.prng().next());
  }
  std::vector<float> one_hot(world_.options().devices, 0.0f);
  one_hot[index_] = 1.0f;
  std::vector<uint64_t> lanes(one_hot.size());
  COT_TRY(add_update(one_hot, 1, action.plan.update.fixed_point, lanes));
  lanes.push_back(1);  // its weight
  COT_ASSIGN(session_, SimSession::open(parameters, *signer_, std::move(lanes), saved_session_));
  return {};
}

void SimDevice::upload_masked(const Bytes& ticket) {
  const uint64_t request = begin_request(kSessionAnswerMax);
  at_some_node(request, [this, request, ticket, training = training(), update = *session_->to_upload()](SimNode& node) {
    node.upload(id_, ticket, training, update, [this, request](UploadAnswer answer) {
      world_.send([this, request, answer = std::move(answer)] {
        if (request != request_ || !machine_) return;
        answered(request, answer.receipt ? taken(Heard{}) : failed(failure_of(answer)));
      });
    });
  });
}

AggregationAnswered SimDevice::taken(const Answer& answer) {
  if (const auto* error = std::get_if<Error>(&answer)) return failed({*error, {}});
  session_->told();
  if (std::holds_alternative<Heard>(answer)) {
    return {session_->to_ask() ? AggregationStep::went_on : AggregationStep::done};
  }
  if (std::holds_alternative<NotYet>(answer)) return {RetryWindow{.min_ms = 20, .max_ms = 200, .reason = {}}};
  const Result<bool> is_taken = session_->take(std::get<ServerMessage>(answer));
  if (!is_taken) {
    const bool can_be_tried_again = traits(is_taken.error().code()).retry != RetryClass::never;
    return failed({can_be_tried_again ? Error(ErrorCode::refused, is_taken.error().message()) : is_taken.error(), {}});
  }
  if (!*is_taken) return {RetryWindow{.min_ms = 200, .max_ms = 1'000, .reason = {}}};
  return {AggregationStep::went_on};
}

// A round that is closed needs nothing more of a device that has its receipt.
AggregationAnswered SimDevice::failed(const Failure& failure) const {
  const ErrorCode code = failure.error.code();
  const bool is_done = session_ && session_->has_receipt() && code == ErrorCode::round_closed;
  if (is_done) return {AggregationStep::done};
  if (!session_) return {failure};
  const bool is_over =
      traits(code).retry == RetryClass::check_in || code == ErrorCode::conflict || code == ErrorCode::refused;
  const bool is_not_counted = session_->to_upload() != nullptr && code == ErrorCode::ticket_expired;
  return {failure, session_->has_masked() ? is_not_counted : is_over};
}

}  // namespace coterie::simulation
