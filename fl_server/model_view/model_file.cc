#include "fl_server/model_view/model_file.h"

#include "fl_server/finalize/frame_head.h"
#include "fl_server/finalize/value_bytes.h"
#include "proto/codec/codec.h"

namespace coterie {

Result<ModelFile> ModelFile::open(std::shared_ptr<const BlobReader> blob, const std::string& what) {
  ModelFile file;
  file.blob_ = std::move(blob);
  COT_ASSIGN(const FrameHead head, read_frame_head(*file.blob_, FrameKind::model, what));
  file.payload_begin_ = head.prelude.payload_offset();
  COT_ASSIGN(file.graph_, decode_model_head(head.prelude, head.header()));
  return file;
}

Status ModelFile::read(uint64_t payload_offset, std::span<float> values) const {
  return blob_->read_at(payload_begin_ + payload_offset, as_writable(values));
}

}  // namespace coterie
