// IdList: a table's ids, one behind the other in memory. Ten million of them are to fit beside a matching, where a
// std::string each would take 32 bytes and more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coterie::vertical {

class IdList {
 public:
  IdList() = default;
  explicit IdList(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) push_back(id);
  }

  void push_back(std::string_view id) {
    bytes_ += id;
    ends_.push_back(bytes_.size());
  }
  size_t size() const { return ends_.size(); }
  // Valid until the next push_back().
  std::string_view operator[](size_t row) const {
    const uint64_t begin = row == 0 ? 0 : ends_[row - 1];
    return std::string_view(bytes_).substr(begin, ends_[row] - begin);
  }
  friend bool operator==(const IdList&, const IdList&) = default;

 private:
  std::string bytes_;
  std::vector<uint64_t> ends_;  // of each id in bytes_
};

// All rows by their ids, byte by byte, and those of one id by row: equal ids lie side by side. Sorted, not hashed:
// memory is one number a row. Precondition: fewer than 2^32 rows.
std::vector<uint32_t> rows_by_id(const IdList& ids);

}  // namespace coterie::vertical
