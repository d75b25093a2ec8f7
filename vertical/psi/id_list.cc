#include "vertical/psi/id_list.h"

#include <algorithm>
#include <numeric>

namespace coterie::vertical {

std::vector<uint32_t> rows_by_id(const IdList& ids) {
  std::vector<uint32_t> rows(ids.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::ranges::sort(rows, [&](uint32_t a, uint32_t b) {
    const int compared = ids[a].compare(ids[b]);
    return compared != 0 ? compared < 0 : a < b;
  });
  return rows;
}

}  // namespace coterie::vertical
