#include "fl_server/records/watch_record.h"

#include <cmath>
#include <cstring>
#include <string>

#include "base/assert.h"

namespace coterie {
namespace {

void put(Bytes& bytes, double value) {
  const auto* const first = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

// False where fewer are left.
bool take(ByteView& bytes, double& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return true;
}

bool take(ByteView& bytes, size_t count, std::string& text) {
  if (bytes.size() < count) return false;
  text.assign(as_text(bytes.first(count)));
  bytes = bytes.subspan(count);
  return true;
}

// A hit without names, where there is noise. No check has the empty name.
bool take_error(ByteView& bytes, double& error) {
  if (bytes.size() < 2 || bytes[0] != 0 || bytes[1] != 0) return true;
  bytes = bytes.subspan(2);
  return take(bytes, error) && std::isfinite(error) && error > 0;
}

}  // namespace

Bytes encode_watch(const WatchOutcome& outcome) {
  Bytes bytes;
  put(bytes, outcome.looked);
  if (outcome.error > 0) {
    bytes.insert(bytes.end(), {0, 0});
    put(bytes, outcome.error);
  }
  for (const WatchShare& hit : outcome.hits) {
    COT_ASSERT(hit.check.size() <= UINT8_MAX && hit.layer.size() <= UINT8_MAX);
    bytes.push_back(static_cast<uint8_t>(hit.check.size()));
    bytes.push_back(static_cast<uint8_t>(hit.layer.size()));
    for (const std::string* text : {&hit.check, &hit.layer}) bytes.insert(bytes.end(), text->begin(), text->end());
    put(bytes, hit.share);
  }
  return bytes;
}

Result<WatchOutcome> decode_watch(ByteView bytes) {
  WatchOutcome outcome;
  bool is_good = take(bytes, outcome.looked) && take_error(bytes, outcome.error);
  const auto is_share = [&](double value) {
    return outcome.error > 0 ? std::isfinite(value) : value >= 0 && value <= 1;
  };
  is_good = is_good && is_share(outcome.looked);
  while (is_good && !bytes.empty()) {
    is_good = bytes.size() >= 2;
    if (!is_good) break;
    const size_t check = bytes[0], layer = bytes[1];
    bytes = bytes.subspan(2);
    WatchShare& hit = outcome.hits.emplace_back();
    is_good =
        take(bytes, check, hit.check) && take(bytes, layer, hit.layer) && take(bytes, hit.share) && is_share(hit.share);
  }
  if (!is_good) return Error(ErrorCode::data_loss, "database: a model's row has a watch of no known form");
  return outcome;
}

}  // namespace coterie
