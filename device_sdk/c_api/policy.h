// The app's policy and its callback, across the C boundary.
#pragma once

#include "base/result.h"
#include "coterie.h"
#include "device_sdk/client/participant_machine.h"

namespace coterie {

// NULL: the defaults: at least active, at least kCohortMinDefault devices, never down (ADR 53), one
// opening (ADR 60). invalid_argument,
// which names the member.
Result<PrivacyPolicy> policy_of(const coterie_policy* given);

struct RefusalCallback {
  void (*call)(void* context, const coterie_refusal* refusal) = nullptr;
  void* context = nullptr;

  // Calls the app, if it wants to be called.
  void operator()(const RefusedPlan& refused) const;
};

}  // namespace coterie
