#include "base/order/sort_key.h"

#include <algorithm>

namespace coterie {

void sort(std::span<SortKey> keys) { std::sort(keys.begin(), keys.end()); }

}  // namespace coterie
