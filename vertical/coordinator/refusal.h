// Refusal: why a coordinator does not do what a party asks for, by a name that stays.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"

namespace coterie::vertical {

// The numbers are on the wire: none is given twice.
enum class Refusal : uint8_t {
  malformed_request = 1,
  unknown_job,
  manifest_invalid,
  not_a_party,
  both_parties,
  manifest_differs,
  key_unsupported,
  signature_invalid,
  not_approved,
  already_joined,
  not_running,
  job_over,
  peer_absent,
  spoke_early,
  jobs_full,
  party_jobs_full,
  waiting_full,
  pairs_full,
  deal_differs,
  not_an_operator
};

struct RefusalTraits {
  Refusal refusal;
  ErrorCode code;
  std::string_view name;   // the error's reason
  std::string_view title;  // one sentence for a person
};

// All of them, by number.
std::span<const RefusalTraits> all_refusals();
std::string_view refusal_name(Refusal refusal);
// As a party's program says it.
Error refusal_error(Refusal refusal);
std::optional<Refusal> refusal_of(uint8_t number);

}  // namespace coterie::vertical
