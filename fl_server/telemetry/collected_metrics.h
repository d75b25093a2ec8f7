// CollectedMetrics: what the metrics of a registry say at one moment, by name.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace coterie {

class CollectedMetrics {
 public:
  explicit CollectedMetrics(std::vector<prometheus::MetricFamily> families) : families_(std::move(families)) {}

  // Nothing, where there is no such family.
  void each(std::string_view name, const std::function<void(const prometheus::ClientMetric&)>& read) const;
  // Counters, by the value of `label`.
  std::map<std::string, uint64_t> counts(std::string_view name, std::string_view label) const;
  // The sum of the counters whose `label` is `wanted`.
  double sum(std::string_view name, std::string_view label, std::string_view wanted) const;

 private:
  std::vector<prometheus::MetricFamily> families_;
};

// Empty: it has no such label.
std::string label_of(const prometheus::ClientMetric& metric, std::string_view label);

}  // namespace coterie
