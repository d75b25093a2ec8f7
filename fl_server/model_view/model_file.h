// ModelFile: a stored model of which the head is in memory, and whose values are read where they are asked for.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "fl_server/store/blob_store.h"
#include "proto/messages/model.h"

namespace coterie {

class ModelFile {
 public:
  // `what` names the file in errors. Errors: data_loss, malformed, too_large, unsupported_version.
  static Result<ModelFile> open(std::shared_ptr<const BlobReader> blob, const std::string& what);

  const ModelGraph& graph() const { return graph_; }
  // values.size() values of the payload, from byte `payload_offset` on.
  Status read(uint64_t payload_offset, std::span<float> values) const;

 private:
  std::shared_ptr<const BlobReader> blob_;
  uint64_t payload_begin_ = 0;  // in the blob
  ModelGraph graph_;
};

}  // namespace coterie
