// ProbedBlobs: a blob store as one attempt at a round uses it, whose calls a probe hears of: one for each blob that is
// read and one for each that is written. A call begins where the blob is opened or created and takes what the store
// took for all of its pieces, without what was made of them in between; it is told when whoever reads or writes it has
// done. What else the store can do is passed on and told to nobody.
//
// Readers are one thread's, as writers are. Both, and this, may outlive neither store nor probe.
#pragma once

#include "fl_server/store/blob_store.h"
#include "fl_server/telemetry/attempt_calls.h"

namespace coterie {

class ProbedBlobs final : public BlobStore {
 public:
  // Literals.
  struct Names {
    std::string_view read, write;
  };
  ProbedBlobs(BlobStore& store, AttemptCalls calls, Names names) : store_(store), calls_(calls), names_(names) {}

  Result<std::unique_ptr<BlobWriter>> create() override;
  Result<std::shared_ptr<const BlobReader>> open(const Digest& digest) override;
  Status remove(const Digest& digest) override { return store_.remove(digest); }
  Result<WallTime> now() override { return store_.now(); }
  Result<bool> remove_put_before(const Digest& digest, WallTime put_min) override {
    return store_.remove_put_before(digest, put_min);
  }
  Result<std::vector<Digest>> list(Millis age_min) override { return store_.list(age_min); }

 private:
  BlobStore& store_;
  const AttemptCalls calls_;
  const Names names_;
};

}  // namespace coterie
