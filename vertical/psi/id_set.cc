#include "vertical/psi/id_set.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"
#include "secure/crypto/hkdf.h"
#include "secure/crypto/short_hash.h"

namespace coterie::vertical {
namespace {

// Well-formed by the Unicode standard, table 3-7.
bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t at) { return at < text.size() ? static_cast<uint8_t>(text[at]) : uint8_t{0}; };
    const uint8_t first = byte(i);
    const size_t more = first < 0x80   ? 0
                        : first < 0xc2 ? 4
                        : first < 0xe0 ? 1
                        : first < 0xf0 ? 2
                        : first < 0xf5 ? 3
                                       : 4;
    if (more == 4) return false;
    for (size_t k = 1; k <= more; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    }
    const uint8_t second = byte(i + 1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return false;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return false;
    i += 1 + more;
  }
  return true;
}

std::string row_name(uint32_t row) { return "row " + std::to_string(row); }

}  // namespace

Result<IdSet> IdSet::make(std::shared_ptr<const IdList> ids_given, Duplicates duplicates) {
  const IdList& ids = *ids_given;
  if (ids.size() > kPsiItemsMax) {
    return Error(ErrorCode::too_large, "a party has at most " + std::to_string(kPsiItemsMax) + " ids, this one has " +
                                           std::to_string(ids.size()));
  }
  for (uint32_t row = 0; row < ids.size(); ++row) {
    if (ids[row].size() > kIdBytesMax) {
      return Error(ErrorCode::malformed, row_name(row) + ": an id has at most " + std::to_string(kIdBytesMax) +
                                             " bytes, this one has " + std::to_string(ids[row].size()));
    }
    if (!is_utf8(ids[row])) return Error(ErrorCode::malformed, row_name(row) + ": an id must be UTF-8");
  }
  IdSet set;
  set.ids_ = std::move(ids_given);
  const std::vector<uint32_t> order = rows_by_id(ids);  // the first row of equal ids comes first
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || ids[order[i - 1]] != ids[order[i]]) {
      set.rows_.push_back(order[i]);
    } else if (duplicates == Duplicates::refuse) {
      return Error(ErrorCode::invalid_argument, row_name(order[i]) + " has the id of " + row_name(order[i - 1]) +
                                                    "; remove one of them, or have duplicates collapsed");
    } else {
      ++set.collapsed_;
    }
  }
  // Back in the order of the table, so that the result does not depend on the order of ids.
  std::ranges::sort(set.rows_);
  return set;
}

void IdSet::cut(const PsiSettings& settings, uint32_t count) {
  COT_ASSERT(count > 0);
  ShortHash::Key key;
  hkdf_expand(hkdf_extract({}, ByteView(settings.salt)), as_bytes("coterie/v1/psi-bucket"), key);
  // By the salt, which both parties have: the same id falls into the same bucket on both sides. Ids that a stranger has
  // chosen cannot fill one bucket without knowing the salt.
  const ShortHash hash(key);
  const IdList& ids = *ids_;
  std::vector<uint32_t> bucket_of(ids.size());
  offsets_.assign(size_t{count} + 1, 0);
  for (const uint32_t row : rows_) {
    bucket_of[row] = static_cast<uint32_t>(hash(as_bytes(ids[row])) % count);
    ++offsets_[bucket_of[row] + 1];
  }
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  std::vector<uint64_t> next(offsets_.begin(), offsets_.end() - 1);
  std::ranges::sort(rows_);
  std::vector<uint32_t> cut_rows(rows_.size());
  for (const uint32_t row : rows_) cut_rows[next[bucket_of[row]]++] = row;
  rows_ = std::move(cut_rows);
}

std::span<const uint32_t> IdSet::bucket(uint32_t index) const {
  COT_ASSERT(size_t{index} + 1 < offsets_.size());
  return std::span(rows_).subspan(offsets_[index], offsets_[index + 1] - offsets_[index]);
}

}  // namespace coterie::vertical
