#include "secure/secagg/fault.h"

#include <array>

#include "base/assert.h"

namespace coterie::secagg {
namespace {

struct FaultRow {
  std::string_view name;
  ErrorCode code;
};

constexpr std::array kFaults = {
    FaultRow{"bad_phase", ErrorCode::conflict},
    FaultRow{"bad_session", ErrorCode::conflict},
    FaultRow{"equivocation", ErrorCode::conflict},
    FaultRow{"not_a_neighbour", ErrorCode::malformed},
    FaultRow{"malformed", ErrorCode::malformed},
    FaultRow{"bad_signature", ErrorCode::unauthenticated},
    FaultRow{"bad_certificate", ErrorCode::unauthenticated},
    FaultRow{"duplicate_identity", ErrorCode::conflict},
    FaultRow{"duplicate_key", ErrorCode::conflict},
    FaultRow{"low_order_point", ErrorCode::malformed},
    FaultRow{"bad_proof", ErrorCode::refused},
    FaultRow{"self_missing", ErrorCode::refused},
    FaultRow{"wrong_degree", ErrorCode::refused},
    FaultRow{"cohort_size", ErrorCode::refused},
    FaultRow{"share_count", ErrorCode::malformed},
    FaultRow{"unopenable", ErrorCode::refused},
    FaultRow{"self_dropped", ErrorCode::refused},
    FaultRow{"not_a_subset", ErrorCode::refused},
    FaultRow{"too_few_survivors", ErrorCode::refused},
    FaultRow{"below_threshold", ErrorCode::refused},
    FaultRow{"survivors_differ", ErrorCode::refused},
    FaultRow{"too_few_confirmations", ErrorCode::refused},
    FaultRow{"bad_shares", ErrorCode::data_loss},
    FaultRow{"commitment_mismatch", ErrorCode::data_loss},
    FaultRow{"lane_count", ErrorCode::malformed},
    FaultRow{"lane_range", ErrorCode::malformed},
    FaultRow{"late", ErrorCode::round_closed},
    FaultRow{"sum_mismatch", ErrorCode::data_loss},
};
static_assert(kFaults.size() == static_cast<size_t>(Fault::sum_mismatch) + 1);

const FaultRow& row_of(Fault fault) {
  COT_ASSERT(static_cast<size_t>(fault) < kFaults.size());
  return kFaults[static_cast<size_t>(fault)];
}

}  // namespace

std::string_view to_string(Fault fault) { return row_of(fault).name; }

Error fault(Fault fault, std::string text) {
  const FaultRow& row = row_of(fault);
  return Error(row.code, std::move(text), row.name);
}

std::optional<Fault> fault_of(const Error& error) {
  for (size_t i = 0; i < kFaults.size(); ++i) {
    if (kFaults[i].name == error.reason()) return static_cast<Fault>(i);
  }
  return std::nullopt;
}

}  // namespace coterie::secagg
