#include "device_sdk/c_api/host_callbacks.h"

#include <string>

#include "device_sdk/c_api/structs.h"

namespace coterie {

Result<HostDataset> HostDataset::make(const coterie_dataset* dataset) {
  if (dataset == nullptr) return Error(ErrorCode::invalid_argument, "dataset must not be NULL");
  // An app that was built with an older header hands a shorter struct.
  COT_ASSIGN(const coterie_dataset known, known_part(dataset, "dataset"));
  if (known.size == nullptr) return Error(ErrorCode::invalid_argument, "dataset.size is missing");
  if (known.read == nullptr && known.read_example == nullptr) {
    return Error(ErrorCode::invalid_argument, "dataset.read is missing");
  }
  return HostDataset(known);
}

int HostDataset::call(uint64_t index, const Example& to) {
  const auto place = [](Example::Place values) {
    return coterie_place{values.data(), reinterpret_cast<int32_t*>(values.data()), values.size()};
  };
  if (dataset_.read_example == nullptr) {
    const std::span<float> features = to.features();
    return dataset_.read(dataset_.context, index, features.data(), features.size(), to.labels().data());
  }
  places_.resize(to.input_count());
  for (size_t i = 0; i < places_.size(); ++i) places_[i] = place(to.features(i));
  const coterie_example example{sizeof(coterie_example), places_.data(), places_.size(), place(to.targets())};
  return dataset_.read_example(dataset_.context, index, &example);
}

Status HostDataset::read(uint64_t index, const Example& to) {
  if (source_ != nullptr) return source_->read(index, to);
  if (dataset_.read_example == nullptr && (to.input_count() != 1 || to.labels().size() != 1)) {
    return Error(ErrorCode::invalid_argument,
                 "the model takes several inputs or labels an example: dataset.read_example "
                 "is missing");
  }
  if (call(index, to) == 0) return {};
  return Error(ErrorCode::unavailable, "the app could not read example " + std::to_string(index) + ", of " +
                                           std::to_string(to.features().size()) + " features");
}

Result<std::shared_ptr<const Signer>> HostSigner::make(const coterie_signer* signer) {
  const auto bad = [](const char* what) {
    return Error(ErrorCode::invalid_argument, std::string("options.signer") + what);
  };
  COT_ASSIGN(const coterie_signer known, known_part(signer, "options.signer"));
  if (known.sign == nullptr || known.public_key == nullptr) return bad("->sign or ->public_key is missing");
  if (known.key_algorithm != static_cast<uint32_t>(KeyAlgorithm::ed25519) &&
      known.key_algorithm != static_cast<uint32_t>(KeyAlgorithm::p256)) {
    return bad("->key_algorithm must be 1 (Ed25519) or 2 (P-256)");
  }
  if (known.public_key_size > COTERIE_PUBLIC_KEY_BYTES_MAX) return bad("->public_key_size is more than a key has");
  Bytes key(known.public_key, known.public_key + known.public_key_size);
  if (!public_key_is_valid(static_cast<KeyAlgorithm>(known.key_algorithm), key)) {
    return bad("->public_key is no key of its algorithm");
  }
  return std::shared_ptr<const Signer>(new HostSigner(known, std::move(key)));
}

Result<Bytes> HostSigner::sign(ByteView message) const {
  Bytes signature(COTERIE_SIGNATURE_BYTES_MAX);
  size_t size = signature.size();
  const int failed = signer_.sign(signer_.context, message.data(), message.size(), signature.data(), &size);
  if (failed != 0) return Error(ErrorCode::unavailable, "the app's key could not sign");
  // The app's word, which is not believed before it is used as a length.
  if (size == 0 || size > signature.size()) {
    return Error(ErrorCode::invalid_argument, "options.signer->sign said that a signature has " + std::to_string(size) +
                                                  " bytes, at most " + std::to_string(signature.size()) + " fit");
  }
  signature.resize(size);
  return signature;
}

Result<TransportResponse> HostTransport::send(const TransportRequest& request, const BodySink& sink) {
  if (cancelled_) return Error(ErrorCode::cancelled, "cancelled by the app");
  std::vector<coterie_http_header> headers;
  for (const auto& [name, value] : request.headers) headers.push_back({name.c_str(), value.c_str()});
  const std::string method(request.method);
  const std::string content_type(request.content_type);
  const coterie_http_request c_request{.struct_size = sizeof(coterie_http_request),
                                       .method = method.c_str(),
                                       .target = request.target.c_str(),
                                       .headers = headers.data(),
                                       .header_count = headers.size(),
                                       .content_type = content_type.empty() ? nullptr : content_type.c_str(),
                                       .body = request.body.data(),
                                       .body_bytes = request.body.size(),
                                       .answer_ms_max = static_cast<uint32_t>(request.answer_max.count())};
  coterie_http_reply reply;
  reply.sink = &sink;
  const int sent = transport_.send(transport_.context, &c_request, &reply);
  // No exception may pass through the app's own frames, which can be C: it was caught below, and goes on from here.
  if (reply.thrown) std::rethrow_exception(reply.thrown);
  if (!reply.failed) return reply.failed.error();
  if (cancelled_) return Error(ErrorCode::cancelled, "cancelled by the app");
  if (sent != 0 || reply.head.status == 0) return Error(ErrorCode::unavailable, "the app's transport got no answer");
  return std::move(reply.head);
}

}  // namespace coterie

namespace {

// Runs `f` unless the reply is already lost. Returns whether it still is good.
template <typename F>
bool fill(coterie_http_reply* reply, F f) noexcept {
  if (reply == nullptr || reply->thrown || !reply->failed) return false;
  try {
    f();
  } catch (...) {
    reply->thrown = std::current_exception();
  }
  return !reply->thrown && reply->failed;
}

}  // namespace

extern "C" {

void coterie_http_reply_status(coterie_http_reply* reply, int status) {
  fill(reply, [&] { reply->head.status = status; });
}

void coterie_http_reply_header(coterie_http_reply* reply, const char* name, const char* value) {
  if (name == nullptr || value == nullptr) return;
  fill(reply, [&] {
    std::string lower(name);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    reply->head.headers.emplace_back(std::move(lower), value);
  });
}

int coterie_http_reply_body(coterie_http_reply* reply, const uint8_t* bytes, size_t count) {
  const bool good = fill(reply, [&] {
    using coterie::Error, coterie::ErrorCode;
    if (reply->head.status == 0) {
      reply->failed = Error(ErrorCode::invalid_argument, "the app's transport gave a body before a status");
    } else if (bytes == nullptr && count > 0) {
      reply->failed = Error(ErrorCode::invalid_argument, "the app's transport gave a body that is NULL");
    } else if (count > 0) {
      reply->head.body_bytes += count;
      reply->failed = (*reply->sink)(reply->head, coterie::ByteView(bytes, count));
    }
  });
  return good ? 0 : 1;
}

}  // extern "C"
