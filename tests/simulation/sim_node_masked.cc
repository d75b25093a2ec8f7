// What a simulated node has to do with secure aggregation: masked updates, and messages for whoever keeps the sessions.
#include "fl_server/core/attempt_terms.h"
#include "secure/identity/ticket.h"
#include "secure/secagg/check_lanes.h"
#include "secure/secagg/masking.h"
#include "tests/simulation/sim_node.h"
#include "tests/simulation/sim_scheduler.h"
#include "tests/support/wide_lanes.h"

namespace coterie::simulation {
namespace {

constexpr Millis kOwnerAnswerMax{2'000};

}  // namespace

// What DeviceService::read_masked_update asks of one: its digest, its shape, lanes of the ring, and the session's word.
void SimNode::receive_masked(UploadId upload) {
  const auto found = uploads_.find(upload);
  if (found == uploads_.end()) return;
  const auto round = rounds_.find(found->second.key);
  if (round == rounds_.end()) return refuse_body(upload, Error(ErrorCode::round_closed, "the round is over"));
  const MaskedUpdate& update = *found->second.masked;
  const secagg::SessionParameters session = *terms_of(round->second).session;
  COT_ASSERT(test::lanes_digest(update.lanes) == update.head.lanes);
  COT_ASSERT(update.head.lane_bits == secagg::lane_bits(session) &&
             update.head.lane_count == secagg::masked_lane_count(session) &&
             update.lanes.size() == update.head.lane_count);
  COT_ASSERT(secagg::check_range<uint64_t>(session, update.lanes).has_value());
  const auto is_answered = std::make_shared<bool>(false);  // the first answer counts
  const auto answered = [this, upload, is_answered](const Status& welcome) {
    if (std::exchange(*is_answered, true)) return;
    if (welcome) step(UploadReceived{upload, {.updates = 1, .weight = 1}});
    else refuse_body(upload, welcome.error());
  };
  const Error silent(ErrorCode::unavailable, "the owner of the sessions does not answer");
  world_.queue().after(kOwnerAnswerMax, alive_guard([answered, silent] { answered(silent); }));
  at_owner(
      [this, key = found->second.key, device = world_.device_id(found->second.device), head = update.head,
       incarnation = incarnation_, answered](SimScheduler& owner) {
        owner.arrived(key, device, head, [this, incarnation, answered](const Status& welcome) {
          world_.send([this, incarnation, answered, welcome] {
            if (alive_ && incarnation == incarnation_) answered(welcome);
          });
        });
      },
      answered);
}

void SimNode::refuse_body(UploadId upload, const Error& error) {
  answer(upload, {.receipt = {}, .error = error, .window = {}});
  step(UploadLost{upload});
}

void SimNode::at_owner(std::function<void(SimScheduler&)> arrive, std::function<void(Error)> failure) {
  world_.send(
      [this, url = owner_, incarnation = incarnation_, arrive = std::move(arrive), failure = std::move(failure)] {
        if (SimScheduler* const owner = world_.scheduler_at(url)) return arrive(*owner);
        world_.send([this, incarnation, failure] {
          if (alive_ && incarnation == incarnation_)
            failure(Error(ErrorCode::unavailable, "nobody keeps the sessions"));
        });
      });
}

void SimNode::exchange(const DeviceId& device, const Bytes& public_key, const Bytes& ticket,
                       std::optional<CohortMessage> told, std::optional<CohortQuestion> asked, Reply reply) {
  const Result<TicketClaims> claims = open_ticket(ticket, world_.ticket_key(), device);
  if (!claims) return reply(claims.error());
  at_owner(
      [this, key = claims->round, device, public_key, told = std::move(told), asked, reply,
       incarnation = incarnation_](SimScheduler& owner) {
        owner.exchange(key, device, public_key, told, asked, [this, incarnation, reply](Answer said) {
          world_.send([this, incarnation, reply, said = std::move(said)] {
            if (alive_ && incarnation == incarnation_) reply(said);
          });
        });
      },
      reply);
}

}  // namespace coterie::simulation
