// LinkPulses: tells the peers of some links, again and again, that this party is there. A party that encrypts a million
// gradients says nothing for minutes, and its peers wait no longer than their patience.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"
#include "vertical/link/link.h"

namespace coterie::vertical {

class LinkPulses {
 public:
  // Says so every `interval`, on a thread of its own, until the object goes; the links outlive it.
  LinkPulses(std::vector<Link*> links, Millis interval);
  LinkPulses(const LinkPulses&) = delete;
  LinkPulses& operator=(const LinkPulses&) = delete;
  ~LinkPulses();

 private:
  std::vector<Link*> links_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace coterie::vertical
