#include "fl_server/telemetry/collected_metrics.h"

#include <algorithm>

namespace coterie {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

std::string label_of(const ClientMetric& metric, std::string_view label) {
  const auto found = std::ranges::find(metric.label, label, &ClientMetric::Label::name);
  return found == metric.label.end() ? "" : found->value;
}

void CollectedMetrics::each(std::string_view name, const std::function<void(const ClientMetric&)>& read) const {
  const auto family = std::ranges::find(families_, name, &MetricFamily::name);
  if (family != families_.end()) std::ranges::for_each(family->metric, read);
}

std::map<std::string, uint64_t> CollectedMetrics::counts(std::string_view name, std::string_view label) const {
  std::map<std::string, uint64_t> by_label;
  each(name, [&](const ClientMetric& metric) {
    by_label[label_of(metric, label)] += static_cast<uint64_t>(metric.counter.value);
  });
  return by_label;
}

double CollectedMetrics::sum(std::string_view name, std::string_view label, std::string_view wanted) const {
  double all = 0;
  each(name, [&](const ClientMetric& metric) {
    if (label_of(metric, label) == wanted) all += metric.counter.value;
  });
  return all;
}

}  // namespace coterie
