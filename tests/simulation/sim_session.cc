#include "tests/simulation/sim_session.h"

#include <algorithm>

#include "tests/support/wide_lanes.h"

namespace coterie::simulation {

Result<SimSession> SimSession::open(const secagg::SessionParameters& parameters, const Signer& signer,
                                    std::vector<uint64_t> update, SavedSession& saved) {
  const auto accept_all = [](const DeviceIdentity&) { return Status(); };
  COT_ASSIGN(secagg::Client client,
             secagg::Client::make(parameters, Secret<32>(std::span<const uint8_t, 32>(saved.seed.data(), 32)),
                                  {.signer = &signer, .certificate = {}}, accept_all));
  SimSession session(parameters, std::move(client), std::move(update), saved);
  session.to_tell_ = session.client_.advert();
  for (const ServerMessage& message : saved.messages) COT_TRY(session.act(message));
  // An update that has its receipt is not sent again.
  if (session.to_upload() != nullptr && saved.has_receipt) session.to_tell_.reset();
  return session;
}

bool SimSession::has_masked() const {
  const auto is_inbox = [](const ServerMessage& message) { return std::holds_alternative<ShareInbox>(message); };
  return std::ranges::any_of(saved_->messages, is_inbox);
}

void SimSession::told() {
  if (to_upload() != nullptr) saved_->has_receipt = true;
  to_tell_.reset();
}

Result<bool> SimSession::take(const ServerMessage& message) {
  if (!is_awaited(message)) return false;
  saved_->messages.push_back(message);
  COT_TRY(act(message));
  return true;
}

bool SimSession::is_awaited(const ServerMessage& message) const {
  if (!to_ask_) return false;
  switch (*to_ask_) {
    case CohortQuestion::roster:
      return std::holds_alternative<RosterView>(message) || (std::holds_alternative<RosterSlot>(message) && !slot_);
    case CohortQuestion::share_inbox: return std::holds_alternative<ShareInbox>(message);
    case CohortQuestion::confirm_request: return std::holds_alternative<ConfirmRequest>(message);
    case CohortQuestion::unmask_request: return std::holds_alternative<UnmaskRequest>(message);
  }
  return false;
}

Status SimSession::act(const ServerMessage& message) {
  return std::visit([this](const auto& m) { return act_on(m); }, message);
}

Status SimSession::act_on(const RosterSlot& slot) {
  COT_ASSIGN(to_tell_, client_.choose(slot));
  slot_ = slot;
  return {};
}

Status SimSession::act_on(const RosterView& view) {
  COT_ASSIGN(to_tell_, client_.share(view));
  to_ask_ = CohortQuestion::share_inbox;
  return {};
}

Status SimSession::act_on(const ShareInbox& inbox) {
  COT_ASSIGN(const secagg::Masking masking, client_.mask(inbox));
  MaskedUpdate update{.head = masking.head(), .lanes = update_};
  update.lanes.resize(update.head.lane_count);
  COT_ASSERT(update.head.lane_bits == 64);  // of the plan's fixed point (round_session.h)
  masking.apply(std::span(update.lanes));
  update.head.lanes = test::lanes_digest(update.lanes);
  to_tell_ = std::move(update);
  to_ask_ = parameters_.is_active() ? CohortQuestion::confirm_request : CohortQuestion::unmask_request;
  return {};
}

// Whoever is asked to confirm or to unmask is a survivor: the server has the update, whatever became of the receipt.
Status SimSession::act_on(const ConfirmRequest& request) {
  COT_ASSIGN(to_tell_, client_.confirm(request));
  saved_->has_receipt = true;
  to_ask_ = CohortQuestion::unmask_request;
  return {};
}

Status SimSession::act_on(const UnmaskRequest& request) {
  COT_ASSIGN(to_tell_, client_.unmask(request));
  saved_->has_receipt = true;
  to_ask_.reset();
  return {};
}

}  // namespace coterie::simulation
