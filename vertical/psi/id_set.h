// IdSet: one party's ids, each once, cut into buckets by a hash that both parties know.
//
// An id is compared byte by byte: it is UTF-8 of at most kIdBytesMax bytes and nothing is folded or trimmed, so both
// parties must write it in one way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vertical/psi/id_list.h"
#include "vertical/psi/psi_settings.h"

namespace coterie::vertical {

constexpr size_t kIdBytesMax = 1024;

enum class Duplicates : uint8_t {
  refuse,    // an id that comes twice is an error
  collapse,  // the first row counts; the others are counted in collapsed()
};

class IdSet {
 public:
  // Row i has (*ids)[i]; the set shares them. Errors name the row (from 0), never the id: invalid_argument for a
  // duplicate, malformed for what is no id, too_large above kPsiItemsMax.
  static Result<IdSet> make(std::shared_ptr<const IdList> ids, Duplicates duplicates);
  static Result<IdSet> make(const std::vector<std::string>& ids, Duplicates duplicates) {
    return make(std::make_shared<const IdList>(ids), duplicates);
  }

  uint64_t items() const { return rows_.size(); }
  uint64_t collapsed() const { return collapsed_; }
  std::string_view id(uint32_t row) const { return (*ids_)[row]; }

  // Cuts the set into `count` buckets under the job's salt.
  void cut(const PsiSettings& settings, uint32_t count);
  // The rows of a bucket, ascending. Precondition: cut.
  std::span<const uint32_t> bucket(uint32_t index) const;

 private:
  std::shared_ptr<const IdList> ids_;
  std::vector<uint32_t> rows_;     // of distinct ids; bucket by bucket once cut
  std::vector<uint64_t> offsets_;  // of buckets in rows_
  uint64_t collapsed_ = 0;
};

}  // namespace coterie::vertical
