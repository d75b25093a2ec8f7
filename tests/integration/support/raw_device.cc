#include "tests/integration/support/raw_device.h"

#include <thread>

#include "base/os/clock.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"

namespace coterie::integration {
namespace {

constexpr Millis kUploadMax{60'000};  // a server that has died must fail the test, not hang it

}  // namespace

std::unique_ptr<HttpsClient> connect_to(const std::string& url, const std::string& ca_pem) {
  HttpsClientSettings settings;
  settings.url = url;
  settings.ca_pem = ca_pem;
  settings.silence_max = Millis(120'000);
  auto client = HttpsClient::make(settings);
  COT_ASSERT(client.has_value());
  return std::move(*client);
}

RawDevice::RawDevice(const std::string& url, const std::string& ca_pem, KeyAlgorithm algorithm)
    : client_(connect_to(url, ca_pem)),
      signer_(std::move(*make_signer(algorithm, generate_secret(algorithm)))),
      api_(*client_, *signer_) {}

RawDevice::RawDevice(std::unique_ptr<Transport> transport, KeyAlgorithm algorithm)
    : transport_(std::move(transport)),
      signer_(std::move(*make_signer(algorithm, generate_secret(algorithm)))),
      api_(*transport_, *signer_) {}

Status RawDevice::enroll(const std::string& token) {
  const Outcome<EnrollReply> outcome = api_.enroll(token, "raw-device");
  if (const auto* failure = std::get_if<Failure>(&outcome)) return failure->error;
  id_ = std::get<EnrollReply>(outcome).device;
  population_ = std::get<EnrollReply>(outcome).population;
  api_.trust({std::get<EnrollReply>(outcome).signing_key, std::get<EnrollReply>(outcome).retiring_keys});
  return {};
}

Result<Assignment> RawDevice::wait_for_assignment(Millis hold, int failures_max) {
  for (;;) {
    auto answer = api_.check_in(id_, {population_, "raw-device", static_cast<uint32_t>(hold.count())});
    if (auto* assignment = std::get_if<Assignment>(&answer)) return std::move(*assignment);
    if (auto* failure = std::get_if<Failure>(&answer)) {
      const bool is_window =
          traits(failure->error.code()).retry == RetryClass::window;  // a machine that is busy with tests
      if (!is_window && failures_max-- <= 0) return failure->error;
      std::this_thread::yield();
    }
  }
}

Outcome<Receipt> RawDevice::upload(const Assignment& assignment, std::span<const float> values, uint32_t weight,
                                   std::optional<uint32_t> examples) {
  const UpdateHeader header{.round = assignment.round,
                            .model = assignment.model,
                            .encoding = UpdateEncoding::float32,
                            .value_count = values.size(),
                            .weight = weight,
                            .examples = examples.value_or(weight),
                            .loss_sum = 0.5 * weight,
                            .correct = 0,
                            .train_ms = 1};
  Bytes frame = encode_head(header);
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  frame.insert(frame.end(), bytes, bytes + values.size_bytes());
  return api_.upload(id_, assignment, frame);
}

Outcome<Receipt> RawDevice::upload_until_decided(const Assignment& assignment, std::span<const float> values) {
  const Instant until = os::monotonic_now() + kUploadMax;
  for (;;) {
    Outcome<Receipt> outcome = upload(assignment, values);
    const auto* failure = std::get_if<Failure>(&outcome);
    if (failure == nullptr) return outcome;
    const RetryClass retry = traits(failure->error.code()).retry;
    if (retry == RetryClass::never || retry == RetryClass::check_in || os::monotonic_now() > until) return outcome;
    std::this_thread::yield();
  }
}

Result<std::vector<float>> RawDevice::fetch_weights(const Assignment& assignment) {
  Bytes file;
  file.reserve(assignment.model_bytes);
  const auto collect = [&](const TransportResponse&, ByteView piece) -> Status {
    file.insert(file.end(), piece.begin(), piece.end());
    return {};
  };
  const Outcome<uint64_t> fetched = api_.fetch_model(id_, assignment.model, 0, collect);
  if (const auto* failure = std::get_if<Failure>(&fetched)) return failure->error;
  if (content_digest(file) != assignment.model) return Error(ErrorCode::refused, "the model has another digest");
  COT_ASSIGN(const Decoded<ModelGraph> model, decode_model(file));
  const std::span<const float> values = payload_as<float>(model.payload);
  return std::vector<float>(values.begin(), values.end());
}

}  // namespace coterie::integration
