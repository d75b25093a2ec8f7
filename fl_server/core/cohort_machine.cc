#include "fl_server/core/cohort_machine.h"

#include <algorithm>
#include <string>

#include "secure/secagg/fault.h"

namespace coterie {
namespace {

using Phase = secagg::Server::Phase;

// The phase in which a question is answered, at the earliest.
Phase phase_of(CohortQuestion question) {
  switch (question) {
    case CohortQuestion::roster: return Phase::choosing;
    case CohortQuestion::share_inbox: return Phase::masking;
    case CohortQuestion::confirm_request: return Phase::confirming;
    case CohortQuestion::unmask_request: return Phase::unmasking;
  }
  return Phase::unmasking;
}

Error closed(const std::string& why) { return Error(ErrorCode::round_closed, "secure aggregation: " + why); }

}  // namespace

Result<CohortMachine> CohortMachine::make(const secagg::SessionParameters& parameters, const CohortSettings& settings,
                                          uint64_t ring_seed, secagg::CertificateCheck certificate_is_good, Instant now) {
  COT_ASSIGN(secagg::Server server, secagg::Server::make(parameters, ring_seed, std::move(certificate_is_good)));
  return CohortMachine(std::move(server), settings, now);
}

// ---- Who says what

Result<uint32_t> CohortMachine::place_of(const DeviceId& device) const {
  const auto key = keys_.find(device);
  if (key == keys_.end()) return closed("this device is not in the cohort");
  return *server_.device_of(key->second);
}

// A message names its sender by key or by place: it must be the one who signed the request.
Status CohortMachine::check_sender(const DeviceId& device, const CohortMessage& message) const {
  if (std::holds_alternative<KeyAdvert>(message)) return {};
  COT_ASSIGN(const uint32_t place, place_of(device));
  const uint32_t named = std::visit(
      [](const auto& m) -> uint32_t {
        if constexpr (requires { m.device; }) return m.device;
        else return 0;
      },
      message);
  if (named == place) return {};
  return Error(ErrorCode::permission_denied, "secure aggregation: a message in the name of another device");
}

Status CohortMachine::receive(const DeviceId& device, const Bytes& public_key, const CohortMessage& message, Instant now) {
  advance(now);
  if (failure_) return closed(failure_->message());
  COT_TRY(check_sender(device, message));
  if (is_ready_) {  // what there is opens the sum, and others read it by now
    return std::holds_alternative<Unmasking>(message) ? Status() : Status(closed("the session is over"));
  }
  if (const auto* advert = std::get_if<KeyAdvert>(&message); advert != nullptr && advert->identity.public_key != public_key) {
    return Error(ErrorCode::permission_denied, "secure aggregation: an advert with the key of another device");
  }
  COT_TRY(std::visit([this](const auto& m) { return server_.receive(m); }, message));
  if (std::holds_alternative<KeyAdvert>(message)) keys_.emplace(device, public_key);
  advance(now);
  return {};
}

// ---- Questions

Result<CohortReply> CohortMachine::answer(uint32_t place, CohortQuestion question) const {
  switch (question) {
    case CohortQuestion::roster:
      if (server_.phase() == Phase::choosing) {
        if (server_.has_chosen(place)) return CohortReply(NotYet{server_.size()});
        return CohortReply(server_.slot(place));
      }
      return CohortReply(server_.view(place));
    case CohortQuestion::share_inbox: {
      COT_ASSIGN(ShareInbox inbox, server_.inbox(place));
      return CohortReply(std::move(inbox));
    }
    case CohortQuestion::confirm_request: {
      COT_ASSIGN(ConfirmRequest request, server_.confirm_request(place));
      return CohortReply(std::move(request));
    }
    case CohortQuestion::unmask_request: {
      COT_ASSIGN(UnmaskRequest request, server_.unmask_request(place));
      return CohortReply(std::move(request));
    }
  }
  return CohortReply(NotYet{server_.size()});
}

Result<CohortReply> CohortMachine::ask(const DeviceId& device, CohortQuestion question, Instant now) {
  advance(now);
  if (failure_) return closed(failure_->message());
  COT_ASSIGN(const uint32_t place, place_of(device));
  if (server_.phase() < phase_of(question)) return CohortReply(NotYet{server_.size()});
  Result<CohortReply> reply = answer(place, question);
  if (!reply) return closed("the cohort goes on without this device: " + reply.error().message());
  return reply;
}

// ---- Masked updates

Status CohortMachine::check_input(const DeviceId& device, const MaskedInput& input) const {
  if (failure_) return closed(failure_->message());
  COT_ASSIGN(const uint32_t place, place_of(device));
  if (input.device != place) {
    return Error(ErrorCode::permission_denied, "secure aggregation: a masked update in the name of another device");
  }
  return server_.check(input);
}

Status CohortMachine::input_accepted(const DeviceId& device, const MaskedInput& input, Instant now) {
  COT_TRY(check_input(device, input));
  COT_TRY(server_.receive(input));
  advance(now);
  return {};
}

void CohortMachine::freeze(const std::vector<DeviceId>& accepted, Instant now) {
  advance(now);
  if (failure_ || is_frozen_) return;
  is_frozen_ = true;
  // What is in the durable sum and what the session knows must be the same: or masks would be taken off that are not there.
  const bool all_known = std::ranges::all_of(accepted, [this](const DeviceId& device) {
    const auto place = place_of(device);
    return place.has_value() && server_.has_input(*place);
  });
  if (!all_known || server_.phase() != Phase::masking || server_.answered() != accepted.size()) {
    return fail(closed("the sum holds updates that this session does not know; the server was started anew meanwhile"));
  }
  if (const Status frozen = server_.close_inputs(); !frozen) return fail(frozen.error());
  begin_phase(now);
  advance(now);
}

// ---- Time

std::optional<Instant> CohortMachine::next_deadline() const { return failure_ || is_ready_ ? std::nullopt : deadline_; }

void CohortMachine::time_passed(Instant now) { advance(now); }

void CohortMachine::fail(Error error) {
  failure_ = std::move(error);
  deadline_.reset();
}

Status CohortMachine::close_phase() {
  switch (server_.phase()) {
    case Phase::advertising: return server_.close_adverts();
    case Phase::choosing: return server_.close_choices();
    case Phase::sharing: return server_.close_shares();
    case Phase::confirming: return server_.close_confirmations();
    case Phase::masking:
    case Phase::unmasking: return {};
  }
  return {};
}

void CohortMachine::begin_phase(Instant now) {
  phase_began_ = now;
  deadline_ = now + settings_.phase_max;
  is_shortened_ = false;
}

// Adverts come as training ends, so those of a phase say nothing about those that are left.
void CohortMachine::shorten_wait(uint32_t expected, Instant now) {
  if (is_shortened_ || !deadline_ || server_.phase() == Phase::advertising) return;
  const double enough = expected * (1 - settings_.dropout_share);
  if (server_.answered() < enough || server_.answered() == 0) return;
  if (server_.phase() == Phase::unmasking && !server_.can_open()) return;
  is_shortened_ = true;
  deadline_ = std::min(*deadline_, now + std::max<Instant::duration>(settings_.patience_min, 2 * (now - phase_began_)));
}

void CohortMachine::advance(Instant now) {
  while (!failure_ && !is_ready_) {
    const bool overdue = deadline_ && now >= *deadline_;
    const uint32_t expected = server_.phase() == Phase::advertising ? settings_.adverts_goal : server_.expected();
    const bool all_answered = server_.answered() >= expected;
    if (!all_answered && !overdue) return shorten_wait(expected, now);
    if (server_.phase() == Phase::masking) {
      updates_expected_ = server_.answered();
      deadline_.reset();
      return;  // the round's turn
    }
    if (server_.phase() == Phase::unmasking) {
      if (server_.can_open()) {
        is_ready_ = true;
      } else {
        fail(closed("too few devices answered with their shares"));
      }
      return;
    }
    if (const Status ended = close_phase(); !ended) return fail(ended.error());
    begin_phase(now);
  }
}

}  // namespace coterie
