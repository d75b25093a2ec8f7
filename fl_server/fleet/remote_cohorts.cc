#include "fl_server/fleet/remote_cohorts.h"

#include <algorithm>
#include <charconv>

#include "fl_server/fleet/cohort_frames.h"
#include "proto/codec/codec.h"
#include "proto/codec/secagg_codec.h"

namespace coterie {
namespace {

constexpr Millis kHoldMax{5'000};  // a server that is about to leave has this long to wait for answers
constexpr Millis kMargin{5'000};   // beyond what an answer is held

std::vector<std::pair<std::string, std::string>> headers_of(const DeviceId& device) {
  return {{"Coterie-Device", device.hex()}};
}

// What the owner said instead of an answer, as it said it.
Error refusal(const PeerAnswer& answer) {
  const Result<ErrorReply> reply = decode_error_reply(answer.body);
  if (!reply)
    return Error(ErrorCode::unavailable, "the owner of this session answered " + std::to_string(answer.status));
  return Error(error_code_from_name(reply->code), reply->detail);
}

Status as_status(const Result<PeerAnswer>& answer) {
  if (!answer) return answer.error();
  return answer->status == 200 ? Status() : Status(refusal(*answer));
}

}  // namespace

void RemoteCohorts::send(const RoundKey& key, const std::string& what, PeerRequest request,
                         std::function<void(Result<PeerAnswer>)> done) {
  const std::string owner = owner_url_();
  // Looked up at every request: the next leader may be another node. `unavailable` makes the device ask again.
  if (owner.empty()) return done(Error(ErrorCode::unavailable, "nobody keeps the sessions of this round now"));
  request.url = owner + "/peer/v1/cohorts/" + std::to_string(key.round.value()) + "." +
                std::to_string(key.attempt.value()) + "/" + what;
  client_.send(std::move(request), std::move(done));
}

void RemoteCohorts::cohort_receive(const RoundKey& key, const DeviceId& device, Bytes public_key, CohortMessage message,
                                   std::function<void(Status)> answer) {
  PeerRequest request{.url = {}, .headers = headers_of(device), .body = encode(message)};
  request.headers.emplace_back("Coterie-Key", to_base64url(public_key));
  send(key, "message", std::move(request),
       [answer = std::move(answer)](const Result<PeerAnswer>& got) { answer(as_status(got)); });
}

void RemoteCohorts::cohort_ask(const RoundKey& key, const DeviceId& device, CohortQuestion question, Millis hold,
                               std::function<void(Result<CohortReply>)> answer) {
  // A device that may wait longer is told "not yet" and asks again: by then another node may lead.
  const Millis held = std::min(hold, kHoldMax);
  PeerRequest request{.url = {}, .headers = headers_of(device), .body = {}, .timeout = held + kMargin};
  request.headers.emplace_back("Coterie-Hold-Ms", std::to_string(held.count()));
  const auto done = [answer = std::move(answer)](const Result<PeerAnswer>& got) {
    if (!got) return answer(got.error());
    if (got->status == 200) return answer(decode_cohort_reply(got->body));
    if (got->status != 204) return answer(refusal(*got));
    uint32_t size = 0;
    const std::string& text = got->cohort_size;
    std::from_chars(text.data(), text.data() + text.size(), size);
    answer(CohortReply(NotYet{size}));
  };
  send(key, std::string(to_string(question)), std::move(request), done);
}

void RemoteCohorts::cohort_input_arrived(const RoundKey& key, const DeviceId& device, MaskedInput input,
                                         std::function<void(Status)> answer) {
  send(key, "input", {.url = {}, .headers = headers_of(device), .body = encode_head(input)},
       [answer = std::move(answer)](const Result<PeerAnswer>& got) { answer(as_status(got)); });
}

}  // namespace coterie
