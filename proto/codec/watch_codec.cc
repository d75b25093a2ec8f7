// Which checks devices ask of their trainings, in plans.
#include "proto/codec/flat.h"
#include "proto/messages/training_rules.h"
#include "proto/messages/watch_lanes.h"

namespace coterie::flat {

flatbuffers::Offset<wire::Watch> build(flatbuffers::FlatBufferBuilder& builder, const WatchSettings& message,
                                       float bound, uint8_t loss) {
  return wire::CreateWatch(builder, loss, builder.CreateVectorOfStrings(message.checks), message.every,
                           bound == 1 ? 0 : bound);
}

// A name that is none of ours has no lanes: nothing could be said of the update.
Result<WatchSettings> parse(const wire::Watch& table) {
  if (table.checks()->size() > kJobWatchChecksMax) return out_of_range("watch", "has too many checks");
  WatchSettings settings{.checks = {}, .every = table.every()};
  for (const flatbuffers::String* check : *table.checks()) {
    COT_ASSIGN(std::string name, text(check, "watch", kPatternBytesMax, 1));
    if (find_job_check(name) == nullptr) return out_of_range("watch", "has a check that this version does not know");
    settings.checks.push_back(std::move(name));
  }
  return settings;
}

}  // namespace coterie::flat
