#include "fl_server/finalize/sum_masks.h"

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"

namespace coterie {

uint64_t SumMasks::updates() const {
  uint64_t updates = 0;
  for (const secagg::SummedSession& summed : sessions) updates += summed.updates;
  return updates;
}

Digest SumMasks::name() const {
  DomainFields fields("coterie/v1/summed-sessions");
  for (const secagg::SummedSession& summed : sessions) fields.add(summed.session.view()).add(summed.updates);
  return sha256(fields.view());
}

}  // namespace coterie
