// The device plane's part of uploads: admitted, read into pooled memory, checked, handed over, answered.
#include "fl_server/device_api/device_service.h"
#include "fl_server/device_api/upload.h"
#include "fl_server/net/frame_response.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"
#include "proto/codec/update/update_decoder.h"

namespace coterie {
namespace {

constexpr uint64_t kHeaderBytesMax = limits::kWireHeaderBytesMax + 128;

HttpResponse answer_to(const UploadDecision& decision) {
  if (const auto* accepted = std::get_if<UploadAccepted>(&decision)) return frame_response(encode(accepted->receipt));
  const auto& refused = std::get<UploadRefused>(decision);
  return error_response(refused.error, refused.window);
}

}  // namespace

Awaitable<HttpResponse> DeviceService::put_update(Exchange& exchange, DeviceCall call) {
  const RequestHead& head = exchange.head();
  if (!head.content_length) {
    co_return error_response(Error(ErrorCode::length_required, "an update needs a Content-Length"), {});
  }
  const Result<TicketHolder> holder = ticket_holder(exchange, call, Signs::head);
  if (!holder) co_return error_response(holder.error(), {});

  // Whichever way this function is left from here on, the core hears what became of the upload.
  Upload upload(parts_.plane, holder->round, holder->device.id, *head.content_length, holder->handed);
  UploadAdmission admission = co_await upload.admitted();
  const auto* const admitted = std::get_if<UploadAdmitted>(&admission);
  if (admitted == nullptr) co_return answer_to(std::get<UploadDecision>(admission));

  Awaitable<Result<ReceivedUpdate>> reading = admitted->session ? read_masked_update(exchange, *holder, *admitted)
                                                                : read_update(exchange, holder->round, *admitted);
  Result<ReceivedUpdate> update = co_await std::move(reading);
  if (!update) {
    parts_.plane.body_refused(holder->round, holder->device.id, update.error().code());
    co_return error_response(update.error(), {});
  }
  co_return answer_to(co_await upload.deliver(std::move(update->body), update->totals));
}

// Size, verify, decode, check against the plan; the values' own range is checked as they are added.
Awaitable<Result<DeviceService::ReceivedUpdate>> DeviceService::read_update(Exchange& exchange, const RoundKey& key,
                                                                            const UploadAdmitted& admitted) {
  const uint64_t size = *exchange.head().content_length;
  const UpdateDecoder& decoder = update_decoder(admitted.rules.encoding);
  const uint64_t size_max = decoder.payload_bytes_max(admitted.rules) + kHeaderBytesMax;
  if (size > size_max) {
    co_return Error(ErrorCode::too_large, "the update has " + std::to_string(size) +
                                              " bytes, this plan's have at most " + std::to_string(size_max));
  }
  Result<BodyPool::Body> memory = bodies_.acquire(size);
  if (!memory) co_return memory.error();
  Status read = co_await exchange.read_body_into(memory->bytes);
  if (!read) co_return read.error();
  const Result<Decoded<UpdateHeader>> update = decode_update(memory->bytes);
  if (!update) co_return update.error();
  const UpdateHeader& header = update->header;
  const auto mismatch = [](const std::string& what) { return Error(ErrorCode::malformed, "update: " + what); };
  if (header.round != key) co_return mismatch("is of another round or attempt than its ticket");
  if (header.model != admitted.model) co_return mismatch("was trained from another model than this round's");
  if (header.value_count != admitted.rules.value_count) {
    co_return mismatch("has " + std::to_string(header.value_count) + " values, the plan says " +
                       std::to_string(admitted.rules.value_count));
  }
  if (header.encoding != decoder.encoding) co_return mismatch("has another encoding than the plan says");
  if (header.bits != admitted.rules.level_bits()) co_return mismatch("has other bits a value than the plan says");
  if (header.sent_count != admitted.rules.top_k.sent_count) {
    co_return mismatch("has " + std::to_string(header.sent_count) + " of its values, the plan says " +
                       std::to_string(admitted.rules.top_k.sent_count));
  }
  const uint32_t weight_max = admitted.rules.fixed_point.weight_max;
  if (header.weight > weight_max) co_return mismatch("weight is over the plan's " + std::to_string(weight_max));
  const RoundTotals totals{.updates = 1,
                           .weight = header.weight,
                           .examples = header.examples,
                           .loss_sum = header.loss_sum,
                           .correct = header.correct,
                           .train_ms = header.train_ms};
  UploadBody body{.storage = memory->storage, .values = {}, .weight = summed_weight(admitted.rules, header.weight)};
  if (header.encoding == UpdateEncoding::eden)
    body.eden = {.scale = header.scale, .rotation_seed = header.rotation_seed};
  const Result<std::span<const float>> values = decoder.values(header, update->payload, admitted.rules, body.decoded);
  if (!values) co_return values.error();
  body.values = *values;
  co_return ReceivedUpdate{std::move(body), totals};
}

}  // namespace coterie
