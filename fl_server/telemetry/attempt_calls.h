// AttemptCalls: tells a RoundProbe of calls that one attempt at a round makes, by whoever makes them. Without a probe
// it runs them, and reads no clock.
#pragma once

#include <string_view>

#include "fl_server/telemetry/round_probe.h"

namespace coterie {

class AttemptCalls {
 public:
  AttemptCalls() = default;  // nobody hears of them
  // `probe` outlives this, or is null.
  AttemptCalls(RoundProbe* probe, const RoundKey& key) : probe_(probe), key_(key) {}

  RoundProbe* probe() const { return probe_; }
  const RoundKey& key() const { return key_; }

  // What `work` returns. `call`: a literal.
  template <typename Work>
  auto timed(std::string_view call, Work work) const {
    const ProbedCall probing(probe_);
    auto result = work();
    probing.returned(key_, call);
    return result;
  }

 private:
  RoundProbe* probe_ = nullptr;
  RoundKey key_{};
};

}  // namespace coterie
