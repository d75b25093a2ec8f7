// MeteredTransport: a transport whose bytes are within a day's budget. Requests and answers count as HTTP has them:
// line, headers, body; not what TLS and TCP add.
//
// What a request takes is charged before it leaves. For an answer kTrafficAheadBytes more than has come are charged at
// any time, and where they cannot be the transfer ends: so an answer whose pieces are no larger is never over budget.
#pragma once

#include "device_sdk/agent/work_meter.h"
#include "device_sdk/client/transport.h"

namespace coterie {

inline constexpr uint64_t kTrafficAheadBytes = 64 * 1024;
inline constexpr uint64_t kTrafficStepBytes = 1 << 20;  // charged at once, where so much is left

class MeteredTransport final : public Transport {
 public:
  // Both outlive this.
  MeteredTransport(Transport& inner, WorkMeter& meter) : inner_(inner), meter_(meter) {}
  // As the inner one; refused, with the reason of a budget, or the disk's error, if what it takes cannot be charged.
  Result<TransportResponse> send(const TransportRequest& request, const BodySink& sink) override;

 private:
  Transport& inner_;
  WorkMeter& meter_;
};

}  // namespace coterie
