#include "vertical/link/link_pulses.h"

#include <chrono>
#include <utility>

namespace coterie::vertical {

LinkPulses::LinkPulses(std::vector<Link*> links, Millis interval)
    : links_(std::move(links)), thread_([this, interval] {
        std::unique_lock lock(mutex_);
        while (!wake_.wait_for(lock, interval, [this] { return ends_; })) {
          for (Link* link : links_) link->say_alive();
        }
      }) {}

LinkPulses::~LinkPulses() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

}  // namespace coterie::vertical
