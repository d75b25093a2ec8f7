// The host's callbacks, seen as the SDK's interfaces.
#pragma once

#include <atomic>
#include <exception>

#include "coterie.h"
#include "device_sdk/client/transport.h"
#include "device_sdk/runtime/example_source.h"

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
  explicit HostDataset(const coterie_dataset& dataset) : dataset_(dataset) {}
  uint64_t size() const override { return dataset_.size(dataset_.context); }
  Status read(uint64_t index, const Example& to) override;

 private:
  coterie_dataset dataset_;
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
