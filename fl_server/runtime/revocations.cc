#include "fl_server/runtime/revocations.h"

namespace coterie {

Status Revocations::take(Bytes bytes) {
  COT_ASSIGN(RevocationList list, read_revocation_list(bytes, authority_key_));
  auto taken = std::make_shared<const Published>(Published{std::move(bytes), std::move(list)});
  const std::lock_guard lock(mutex_);
  if (newest_ && taken->list.number < newest_->list.number) {
    return Error(ErrorCode::conflict, "list of revoked certificates: number " + std::to_string(taken->list.number) +
                                          " is older than number " + std::to_string(newest_->list.number) +
                                          ", which devices may have seen");
  }
  newest_ = std::move(taken);
  return {};
}

std::shared_ptr<const Revocations::Published> Revocations::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

}  // namespace coterie
