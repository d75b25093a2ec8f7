// Upload: one update from its offer to its answer, as the connection that carries it sees it. An admitted upload that
// is not delivered is lost, and the core hears of it: whichever way the coroutine leaves.
#pragma once

#include <memory>

#include "fl_server/net/exchange.h"
#include "fl_server/runtime/device_plane.h"

namespace coterie {

class Upload {
 public:
  // `plane` outlives it, or has closed it before it ends itself.
  Upload(DevicePlane& plane, const RoundKey& round, const DeviceId& device, uint64_t bytes,
         std::optional<HandedModel> handed)
      : plane_(plane), round_(round), device_(device), bytes_(bytes), handed_(std::move(handed)) {}
  ~Upload() {
    if (slot_ && slot_->abandon()) plane_.lost(id_);
  }
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  // Offers it; call once. Without admission the upload is over.
  Awaitable<UploadAdmission> admitted();
  // Hands the body over; call once, and only of an upload that is admitted. `contribution`: what it adds to the round's
  // totals.
  Awaitable<UploadDecision> deliver(UploadBody body, RoundTotals contribution);

 private:
  DevicePlane& plane_;
  const RoundKey round_;
  const DeviceId device_;
  const uint64_t bytes_;
  const std::optional<HandedModel> handed_;
  UploadId id_;
  std::shared_ptr<UploadSlot> slot_;  // none before it is offered
};

}  // namespace coterie
