#include "tests/integration/support/masked_device.h"

#include <algorithm>

#include "device_sdk/agent/masked_update.h"
#include "proto/codec/codec.h"
#include "proto/codec/secagg_codec.h"
#include "proto/ring/ring_vector.h"
#include "secure/crypto/random.h"
#include "secure/secagg/client.h"
#include "secure/secagg/round_session.h"

namespace coterie::integration {
namespace {

Status tell(RawDevice& device, const Assignment& assignment, const Bytes& message) {
  if (const auto failure = device.api().send_to_session(device.id(), assignment, message)) return failure->error;
  // Twice: the server must not mind, but that the session may be over by then.
  const auto failure = device.api().send_to_session(device.id(), assignment, message);
  return failure && failure->error.code() != ErrorCode::round_closed ? Status(failure->error) : Status();
}

Result<Bytes> ask(RawDevice& device, const Assignment& assignment, std::string_view what) {
  for (;;) {
    auto answer = device.api().ask_session(device.id(), assignment, what);
    if (auto* frame = std::get_if<Bytes>(&answer)) return std::move(*frame);
    if (auto* failure = std::get_if<Failure>(&answer)) return failure->error;
  }
}

Result<Bytes> tell_and_ask(RawDevice& device, const Assignment& assignment, bool apart, const Bytes& message,
                           std::string_view what) {
  if (apart) {
    COT_TRY(tell(device, assignment, message));
    return ask(device, assignment, what);
  }
  auto answer = device.api().ask_session(device.id(), assignment, what, message);
  if (auto* frame = std::get_if<Bytes>(&answer)) return std::move(*frame);
  if (auto* failure = std::get_if<Failure>(&answer)) return failure->error;
  return ask(device, assignment, what);
}

}  // namespace

Status take_masked_part(RawDevice& device, const Assignment& assignment, const MaskedPart& part) {
  if (part.stop == Stop::at_once) return {};
  auto plan_bytes = device.api().fetch_plan(device.id(), assignment.plan, assignment.plan_bytes);
  if (const auto* failure = std::get_if<Failure>(&plan_bytes)) return failure->error;
  COT_ASSIGN(const Plan plan, decode_plan(std::get<Bytes>(plan_bytes)));
  const secagg::SessionParameters parameters =
      secagg::session_parameters(plan, assignment.job, assignment.round, assignment.model, assignment.plan);
  Secret<32> seed;
  fill_random(seed.mutable_bytes());
  COT_ASSIGN(const secagg::DeviceSecrets secrets,
             secagg::DeviceSecrets::derive(Secret<32>(seed.reveal()), parameters.context));
  Traces unused;
  Traces& traces = part.traces != nullptr ? *part.traces : unused;
  for (const Secret<32>* secret : {&secrets.own_seed(), &secrets.mask_key().secret(), &secrets.seal_key().secret()}) {
    traces.patterns.emplace_back(secret->reveal().begin(), secret->reveal().end());
  }
  COT_ASSIGN(secagg::Client client, secagg::Client::make(parameters, std::move(seed), {&device.signer(), {}},
                                                         [](const DeviceIdentity&) { return Status(); }));
  if (part.stop == Stop::behind_advert) return tell(device, assignment, encode(client.advert()));
  COT_ASSIGN(const Bytes view_frame,
             tell_and_ask(device, assignment, part.asks_apart, encode(client.advert()), "roster_view"));
  COT_ASSIGN(const RosterView view, decode_roster_view(view_frame));
  COT_ASSIGN(const SealedShares shares, client.share(view));
  if (part.stop == Stop::behind_shares) return tell(device, assignment, encode(shares));
  COT_ASSIGN(const Bytes inbox_frame, tell_and_ask(device, assignment, part.asks_apart, encode(shares), "share_inbox"));
  COT_ASSIGN(const ShareInbox inbox, decode_share_inbox(inbox_frame));
  COT_ASSIGN(const secagg::Masking masking, client.mask(inbox));
  const uint32_t weight = std::min(part.weight, plan.update.fixed_point.weight_max);
  COT_ASSIGN(const Bytes update, encode_masked_update(masking, client, plan, part.values, weight));
  std::vector<uint64_t> lanes(part.values.size());
  COT_TRY(add_update(part.values, weight, plan.update.fixed_point, lanes));
  const auto* bytes = reinterpret_cast<const uint8_t*>(lanes.data());
  traces.patterns.emplace_back(bytes, bytes + 32);
  const auto* values = reinterpret_cast<const uint8_t*>(part.values.data());
  traces.patterns.emplace_back(values, values + 32);
  const auto receipt = device.api().upload(device.id(), assignment, update);
  if (const auto* failure = std::get_if<Failure>(&receipt)) return failure->error;
  if (part.accepted) part.accepted();
  if (part.stop == Stop::behind_update) return {};
  if (parameters.is_active()) {
    COT_ASSIGN(const Bytes request_frame, ask(device, assignment, "confirm_request"));
    COT_ASSIGN(const ConfirmRequest request, decode_confirm_request(request_frame));
    COT_ASSIGN(const Confirmation confirmation, client.confirm(request));
    COT_TRY(tell(device, assignment, encode(confirmation)));
  }
  COT_ASSIGN(const Bytes unmask_frame, ask(device, assignment, "unmask_request"));
  COT_ASSIGN(const UnmaskRequest unmask, decode_unmask_request(unmask_frame));
  COT_ASSIGN(const Unmasking unmasking, client.unmask(unmask));
  return tell(device, assignment, encode(unmasking));
}

}  // namespace coterie::integration
