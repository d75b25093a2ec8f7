#include "fl_server/core/cohort_machine.h"

#include <algorithm>
#include <cmath>
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
                                          uint64_t ring_seed, secagg::CertificateCheck certificate_is_good,
                                          Instant now) {
  COT_ASSIGN(secagg::Server server, secagg::Server::make(parameters, ring_seed, std::move(certificate_is_good)));
  return CohortMachine(std::move(server), settings, parameters.survivors_min, now);
}

// ---- Who says what

Result<uint32_t> CohortMachine::place_of(const DeviceId& device) const {
  const auto key = keys_.find(device);
  if (key == keys_.end()) return closed("this device is not in the cohort");
  const std::optional<uint32_t> place = server_.device_of(key->second);
  COT_INVARIANT(place.has_value(), "every device whose advert was taken has a place in the session");
  return *place;
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

Status CohortMachine::receive(const DeviceId& device, const Bytes& public_key, const CohortMessage& message,
                              Instant now) {
  advance(now);  // a phase whose time is over ends before this message, whenever somebody last looked
  if (failure_) return closed(failure_->message());
  COT_TRY(check_sender(device, message));
  if (is_ready_) {  // what there is opens the sum, and others read it by now
    return std::holds_alternative<Unmasking>(message) ? Status() : Status(closed("the session is over"));
  }
  if (const auto* advert = std::get_if<KeyAdvert>(&message);
      advert != nullptr && advert->identity.public_key != public_key) {
    return Error(ErrorCode::permission_denied, "secure aggregation: an advert with the key of another device");
  }
  const auto known = keys_.find(device);
  if (std::holds_alternative<KeyAdvert>(message) && known != keys_.end() && known->second != public_key) {
    return Error(ErrorCode::permission_denied, "secure aggregation: a second advert of one device, with another key");
  }
  COT_TRY(std::visit([this](const auto& m) { return server_.receive(m); }, message));
  if (std::holds_alternative<KeyAdvert>(message)) keys_.emplace(device, public_key);
  advance(now);  // it may have been the last that the phase waits for
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
  // What the session objects to is about this device. It is told that the round is over for it, and checks in again.
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
  if (is_closed_to_inputs_ && !arrived_.contains(place)) return closed("the cohort goes on without this device");
  return server_.check(input);
}

Status CohortMachine::input_arrived(const DeviceId& device, const MaskedInput& input, Instant now) {
  advance(now);
  COT_TRY(check_input(device, input));
  arrived_.insert(input.device);
  advance(now);
  return {};
}

Status CohortMachine::input_accepted(const DeviceId& device, const MaskedInput& input, Instant now) {
  COT_TRY(check_input(device, input));
  COT_TRY(server_.receive(input));
  arrived_.insert(input.device);
  advance(now);
  return {};
}

std::optional<uint32_t> CohortMachine::inputs_due() const {
  if (failure_ || server_.phase() != Phase::masking) return std::nullopt;
  return is_closed_to_inputs_ ? static_cast<uint32_t>(arrived_.size()) : server_.expected();
}

void CohortMachine::freeze(const std::vector<DeviceId>& accepted, Instant now) {
  advance(now);
  if (failure_ || is_frozen_) return;
  is_frozen_ = true;
  // What is in the durable sum and what the session knows must be the same: or masks would be taken off that are not
  // there.
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

void CohortMachine::advertise_until(Instant end) {
  if (server_.phase() == Phase::advertising && deadline_) deadline_ = std::min(*deadline_, end);
}

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
  waited_at_ = 0;
}

uint32_t CohortMachine::expected() const {
  if (server_.phase() == Phase::advertising) return settings_.adverts_goal;
  const bool has_come = is_closed_to_inputs_ && server_.phase() == Phase::masking;
  return has_come ? static_cast<uint32_t>(arrived_.size()) : server_.expected();
}

// Inputs first have to come; what the store then needs for them says nothing about devices.
uint32_t CohortMachine::answered() const {
  const bool are_coming = server_.phase() == Phase::masking && !is_closed_to_inputs_;
  return are_coming ? static_cast<uint32_t>(arrived_.size()) : server_.answered();
}

PhasePatience CohortMachine::patience() const {
  const double size = server_.size();
  const secagg::GraphShape& shape = server_.shape();
  const double opens = size * shape.threshold / shape.holders;  // in a sparse graph about so many
  const auto planned = static_cast<uint32_t>(std::ceil(size * (1 - settings_.dropout_share)));
  const auto least = std::max(survivors_min_, static_cast<uint32_t>(std::ceil(opens)));
  return {.planned = std::max(planned, least), .least = least, .min = settings_.patience_min};
}

// Looked at again with each answer, so that the last one before a limit says how much longer.
void CohortMachine::shorten_wait(Instant now) {
  if (server_.phase() == Phase::advertising) return;  // RoundCohorts says how long: it knows of all
  const uint32_t count = answered();
  if (!deadline_ || count == waited_at_) return;
  waited_at_ = count;
  if (server_.phase() == Phase::masking && is_closed_to_inputs_) return;  // it is the store's turn, not devices'
  if (server_.phase() == Phase::unmasking && !server_.can_open()) return;
  const auto wait = patience().after(count, now - phase_began_);
  if (wait) deadline_ = std::min(*deadline_, now + *wait);
}

void CohortMachine::advance(Instant now) {
  end_due_phases(now);
  if (step_check_.is_due(server_.size())) check();
}

bool CohortMachine::waits_for_least(Instant now) const {
  const bool is_overdue = deadline_ && now >= *deadline_;
  return is_overdue && server_.phase() == Phase::advertising && server_.answered() < settings_.adverts_least;
}

// Several phases may end at once: in one that nobody has to answer, all have answered.
void CohortMachine::end_due_phases(Instant now) {
  while (!failure_ && !is_ready_) {
    if (server_.phase() == Phase::masking && updates_expected_) return;  // the round's turn: freeze()
    if (waits_for_least(now)) deadline_ = now + settings_.advertising_max;
    const bool overdue = deadline_ && now >= *deadline_;
    if (answered() < expected() && !overdue) return shorten_wait(now);
    if (server_.phase() == Phase::masking) {
      if (is_closed_to_inputs_) {  // all that came are durable, or the store was waited for long enough
        updates_expected_ = server_.answered();
        deadline_.reset();
      } else {
        is_closed_to_inputs_ = true;
        begin_phase(now);
      }
    } else if (server_.phase() == Phase::unmasking) {
      if (!server_.can_open()) return fail(closed("too few devices answered with their shares"));
      is_ready_ = true;
    } else {
      if (const Status ended = close_phase(); !ended) return fail(ended.error());
      begin_phase(now);
    }
  }
}

// ---- What is true between two steps

void CohortMachine::check() const {
  for (const auto& [device, key] : keys_) {
    COT_INVARIANT(server_.device_of(key).has_value(), "every device whose advert was taken has a place in the session");
  }
  COT_INVARIANT(server_.size() <= keys_.size(), "no device has two places in the session");
  COT_INVARIANT(!is_frozen_ || failure_ || server_.phase() > Phase::masking, "a frozen cohort takes no more inputs");
  COT_INVARIANT(!is_ready_ || (is_frozen_ && !failure_), "a cohort that is ready was frozen and has not failed");
  COT_INVARIANT(!is_ready_ || server_.can_open(), "a cohort that is ready can open its masks");
  server_.check();
  check_inputs();
  check_time();
}

void CohortMachine::check_inputs() const {
  const bool is_before_masking = server_.phase() < Phase::masking;
  COT_INVARIANT(!is_before_masking || (arrived_.empty() && !is_closed_to_inputs_), "inputs come from masking on");
  COT_INVARIANT(arrived_.empty() || *arrived_.rbegin() < server_.size(), "an input is from a place in the roster");
  uint32_t accepted = 0;
  for (uint32_t place = 0; place < server_.size(); ++place) {
    if (!server_.has_input(place)) continue;
    ++accepted;
    COT_INVARIANT(arrived_.contains(place), "an input that was accepted has arrived");
  }
  COT_INVARIANT(!updates_expected_ || is_closed_to_inputs_,
                "how many updates there are is known when no more can come");
  COT_INVARIANT(!updates_expected_ || *updates_expected_ <= accepted, "an update that is expected was accepted");
}

void CohortMachine::check_time() const {
  const bool is_rounds_turn = server_.phase() == Phase::masking && updates_expected_;
  const bool waits_for_devices = !failure_ && !is_ready_ && !is_rounds_turn;
  COT_INVARIANT(deadline_ || !waits_for_devices, "a phase that waits for devices ends at some time");
  COT_INVARIANT(!deadline_ || !(failure_ || is_rounds_turn), "nothing is due once the cohort waits for nobody");
  COT_INVARIANT(waited_at_ <= answered() || failure_, "a phase has not looked at more answers than there are");
}

}  // namespace coterie
