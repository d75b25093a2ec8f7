#include "fl_server/events/metrics_subscriber.h"

namespace coterie {

void MetricsSubscriber::happened(const Event& event) {
  if (const auto* done = std::get_if<event::RoundDone>(&event.what)) {
    if (done->watch) metrics_.set_watch(event.job, *done->watch);
    if (!done->evaluation_loss) return;  // nothing was held out
    metrics_.set_evaluation(event.job, *done->evaluation_loss, done->evaluation_accuracy);
  } else if (const auto* changed = std::get_if<event::NodesChanged>(&event.what)) {
    metrics_.set_fleet_nodes(changed->nodes);
  }
}

}  // namespace coterie
