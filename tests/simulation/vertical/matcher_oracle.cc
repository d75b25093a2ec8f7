#include "tests/simulation/vertical/matcher_oracle.h"

#include <algorithm>
#include <set>

#include "vertical/psi/psi_wire.h"
#include "vertical/stage/wire.h"

namespace coterie::simulation {

using namespace vertical;

void MatcherOracle::told(PartyIndex from, uint16_t kind, ByteView payload) {
  WireReader reader(payload);
  if (kind == static_cast<uint16_t>(PsiKind::desk)) {
    reader.raw(12);  // version, parties, buckets
    tag_bytes_ = reader.u32();
    return;
  }
  const uint32_t bucket = reader.u32();
  List& list = lists_[{from, bucket}];
  list.entries = reader.u32();
  reader.raw(4);  // the first one's number
  for (ByteView rest = reader.rest(); !rest.empty(); rest = rest.subspan(tag_bytes_)) {
    list.tags.emplace_back(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(tag_bytes_));
  }
}

bool MatcherOracle::is_answer_to(PartyIndex party, ByteView matches) const {
  WireReader reader(matches);
  const uint32_t bucket = reader.u32(), named = reader.u32();
  reader.raw(4);
  std::map<Bytes, PartyIndex> has;  // in how many lists a tag is
  for (PartyIndex one = 0; one < parties_; ++one) {
    const auto list = lists_.find({one, bucket});
    if (list == lists_.end() || list->second.tags.size() != list->second.entries) return false;
    for (const Bytes& tag : list->second.tags) ++has[tag];
  }
  const auto of_all = [&](const auto& entry) { return entry.second == parties_; };
  if (named != std::ranges::count_if(has, of_all)) return false;
  const std::vector<Bytes>& own = lists_.at({party, bucket}).tags;
  std::set<uint32_t> places;
  while (!reader.rest().empty()) {
    const uint32_t place = reader.u32();
    if (place >= own.size() || has.at(own[place]) != parties_ || !places.insert(place).second) return false;
  }
  return true;
}

}  // namespace coterie::simulation
