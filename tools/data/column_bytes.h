// ColumnBytes: the bytes of a column of examples: its own, or a view of a file that several processes have mapped.
#pragma once

#include <memory>
#include <utility>

#include "base/bytes.h"

namespace coterie {

class ColumnBytes {
 public:
  ColumnBytes(Bytes own) : own_(std::move(own)) {}  // NOLINT(google-explicit-constructor): columns are made of bytes
  // `bytes` stay good and unchanged as long as `keeper` is held; null: as long as the caller says.
  ColumnBytes(ByteView bytes, std::shared_ptr<const void> keeper) : shared_(bytes), keeper_(std::move(keeper)) {}

  ByteView view() const { return shared_.empty() ? ByteView(own_) : shared_; }
  operator ByteView() const { return view(); }  // NOLINT(google-explicit-constructor): whoever reads asks no more
  size_t size() const { return view().size(); }
  const uint8_t* data() const { return view().data(); }
  const std::shared_ptr<const void>& keeper() const { return keeper_; }

  // To be changed: what is shared is copied first.
  Bytes& own();

  friend bool operator==(const ColumnBytes& a, const ColumnBytes& b);

 private:
  Bytes own_;
  ByteView shared_;
  std::shared_ptr<const void> keeper_;
};

}  // namespace coterie
