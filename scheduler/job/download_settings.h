// DownloadSettings: the job key download (download_rules.h).
#pragma once

#include <cstdint>

namespace coterie {

struct DownloadSettings {
  uint32_t bits = 0;             // of a value in a delta; 0: every version is fetched whole
  uint32_t keyframe_every = 20;  // versions of which one has no delta; 0: all have one
  bool is_on() const { return bits > 0; }
  bool is_keyframe(uint64_t version) const { return keyframe_every > 0 && version % keyframe_every == 0; }
  friend bool operator==(const DownloadSettings&, const DownloadSettings&) = default;
};

}  // namespace coterie
