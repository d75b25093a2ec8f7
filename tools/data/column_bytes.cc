#include "tools/data/column_bytes.h"

#include <algorithm>

namespace coterie {

Bytes& ColumnBytes::own() {
  if (!shared_.empty()) {
    own_.assign(shared_.begin(), shared_.end());
    shared_ = {};
    keeper_.reset();
  }
  return own_;
}

bool operator==(const ColumnBytes& a, const ColumnBytes& b) { return std::ranges::equal(a.view(), b.view()); }

}  // namespace coterie
