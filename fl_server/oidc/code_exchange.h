// CodeExchange: gives a provider's codes for ID tokens, at its token endpoint. Thread-safe.
//
// A caller waits until the provider has answered, at most kTotalMax. kAtOnceMax may wait at a time; who comes then is
// refused at once, so that a slow provider, or strangers with made-up codes, hold no more threads than that.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "fl_server/oidc/code_flow_settings.h"

namespace coterie {

class CodeExchange {
 public:
  static constexpr uint32_t kAtOnceMax = 4;
  static constexpr Millis kConnectMax{3'000};
  static constexpr Millis kTotalMax{8'000};

  // `ca_file`: who may certify the provider, as for its keys. `secret`: the client's; empty: it has none.
  CodeExchange(CodeFlowSettings settings, std::string ca_file, std::string secret);

  // Reasons of sign_in_fault (code_flow.h): kBusy, kAway, kProvider. The token is not verified here.
  Result<std::string> id_token(std::string_view code, std::string_view verifier);

  // Whoever waits is refused soon, and whoever comes at once: for the end.
  void cancel() { cancelled_ = true; }

 private:
  const CodeFlowSettings settings_;
  const std::string ca_file_, secret_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<uint32_t> under_way_ = 0;
};

}  // namespace coterie
