// UnnamedBlobs: blobs whose rows are gone, from whoever removed the rows to whoever removes blobs. What is lost with
// the process is found again by its age. Thread-safe.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "fl_server/records/unnamed_blob.h"
#include "scheduler/job/records.h"

namespace coterie {

class UnnamedBlobs {
 public:
  void add(UnnamedBlob blob) {
    const std::lock_guard lock(mutex_);
    blobs_.push_back(blob);
  }
  // The files and the optimizer state of a version whose row is gone. Other versions may name its deltas.
  void add(const ModelRecord& model) {
    add(UnnamedBlob{model.digest, model.created});
    if (model.optimizer_state) add(UnnamedBlob{*model.optimizer_state, model.created});
    if (model.exact) add(UnnamedBlob{*model.exact, model.created});
    for (const DeltaFile& delta : model.deltas) add(UnnamedBlob{delta.file, model.created});
  }
  std::vector<UnnamedBlob> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(blobs_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<UnnamedBlob> blobs_;
};

}  // namespace coterie
