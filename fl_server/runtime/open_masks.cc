#include "fl_server/runtime/open_masks.h"

#include "base/log.h"

namespace coterie {

Result<SumMasks> open_masks(const secagg::Server& session, const secagg::SessionParameters& parameters) {
  COT_ASSIGN(const secagg::OpenedMasks opened, session.opening().open());
  if (!opened.blamed.empty()) log(LogLevel::warning, "wrong_shares", {{"devices", opened.blamed.size()}});
  COT_ASSIGN(MaskSum masks, secagg::to_mask_sum(parameters.suite, opened.masks));
  return SumMasks{.parameters = parameters,
                  .session = session.session(),
                  .survivors = session.survivors().size(),
                  .masks = std::move(masks)};
}

}  // namespace coterie
