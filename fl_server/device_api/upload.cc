#include "fl_server/device_api/upload.h"

#include "base/assert.h"

namespace coterie {

Awaitable<UploadAdmission> Upload::admitted() {
  COT_ASSERT(!slot_);
  const auto offer = [this](std::function<void(UploadAdmission)> admission) {
    slot_ = std::make_shared<UploadSlot>(std::move(admission));
    id_ = plane_.offer(round_, device_, bytes_, handed_, slot_);
  };
  co_return co_await await_callback<UploadAdmission>(offer);
}

Awaitable<UploadDecision> Upload::deliver(UploadBody body, RoundTotals contribution) {
  COT_ASSERT(slot_);
  const auto hand_over = [&](std::function<void(UploadDecision)> decision) {
    if (slot_->deliver(std::move(decision))) plane_.received(id_, std::move(body), contribution);
  };
  co_return co_await await_callback<UploadDecision>(hand_over);
}

}  // namespace coterie
