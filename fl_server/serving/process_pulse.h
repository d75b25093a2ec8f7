// ProcessPulse: which of several processes show no life any more. Pure: each of them counts its own beats where all can
// read, and somebody looks again and again.
//
// Looks are counted and not seconds: on a machine that stood still whoever looks has stood still, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coterie {

class ProcessPulse {
 public:
  // looks_max: so many looks in a row without a beat are too many. At least 1.
  ProcessPulse(size_t processes, uint32_t looks_max) : looks_max_(looks_max), seen_(processes) {}

  // Another process has begun in this place: it has all its looks.
  void began(size_t process) { seen_[process].without_beat = 0; }
  // A look at a process that has beaten so often. True: it has shown no life for too long; once.
  bool look(size_t process, uint64_t beats);

 private:
  struct Seen {
    uint64_t beats = 0;
    uint32_t without_beat = 0;  // looks since
  };

  const uint32_t looks_max_;
  std::vector<Seen> seen_;
};

}  // namespace coterie
