// The host's callbacks, seen as the SDK's interfaces.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <vector>

#include "coterie.h"
#include "device_sdk/c_api/source_dataset.h"
#include "device_sdk/client/transport.h"
#include "device_sdk/runtime/example_source.h"
#include "secure/crypto/signature.h"

// What coterie_http_reply_* fill.
struct coterie_http_reply {
  coterie::TransportResponse head;
  const coterie::BodySink* sink = nullptr;
  coterie::Status failed;
  std::exception_ptr thrown;  // by the sink: must not fly through the host's frames, so it waits until they are gone
};

namespace coterie {

class HostDataset final : public ExampleSource {
 public:
  // INVALID_ARGUMENT if a callback is missing.
  static Result<HostDataset> make(const coterie_dataset* dataset);
  uint64_t size() const override { return dataset_.size(dataset_.context); }
  Status read(uint64_t index, const Example& to) override;
  std::optional<Digest> digest() const override { return source_ != nullptr ? source_->digest() : std::nullopt; }

 private:
  explicit HostDataset(const coterie_dataset& dataset) : dataset_(dataset), source_(source_of(dataset)) {}
  int call(uint64_t index, const Example& to);

  coterie_dataset dataset_;
  ExampleSource* source_;              // if it is ours: asked directly, it can say what is wrong
  std::vector<coterie_place> places_;  // kept, so that reading does not allocate
};

class HostSigner final : public Signer {
 public:
  // INVALID_ARGUMENT if something is missing, or the key is none of its algorithm.
  static Result<std::shared_ptr<const Signer>> make(const coterie_signer* signer);
  KeyAlgorithm algorithm() const override { return static_cast<KeyAlgorithm>(signer_.key_algorithm); }
  const Bytes& public_key() const override { return public_key_; }
  Result<Bytes> sign(ByteView message) const override;

 private:
  HostSigner(const coterie_signer& signer, Bytes public_key) : signer_(signer), public_key_(std::move(public_key)) {}

  coterie_signer signer_;
  Bytes public_key_;
};

class HostTransport final : public Transport {
 public:
  HostTransport(const coterie_transport& transport, const std::atomic<bool>& cancelled)
      : transport_(transport), cancelled_(cancelled) {}
  Result<TransportResponse> send(const TransportRequest& request, const BodySink& sink) override;

 private:
  coterie_transport transport_;
  const std::atomic<bool>& cancelled_;
};

}  // namespace coterie
