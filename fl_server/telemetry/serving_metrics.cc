#include "fl_server/telemetry/serving_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/text_serializer.h>

#include "fl_server/telemetry/metric_family.h"

namespace coterie {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Histogram;

const Histogram::BucketBoundaries kSeconds{0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01,
                                           0.02,    0.05,    0.1,    0.2,    0.5,    1,     2,     5,     10};
const Histogram::BucketBoundaries kRows{1, 2, 4, 8, 16, 32, 64, 128, 256};

const Histogram::BucketBoundaries kDifferences{0, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1, 10};

}  // namespace

struct ServingMetrics::Families {
  prometheus::Registry registry;
  Histogram& waited = metric_family(registry, BuildHistogram(), "coterie_serving_queue_seconds",
                                    "Time until the first rows of a request came to a worker")
                          .Add({}, kSeconds);
  Histogram& batch_seconds = metric_family(registry, BuildHistogram(), "coterie_serving_compute_seconds",
                                           "Time that a worker took for a batch")
                                 .Add({}, kSeconds);
  Histogram& batch_rows =
      metric_family(registry, BuildHistogram(), "coterie_serving_batch_examples", "Examples of a batch").Add({}, kRows);
  Histogram& steps_seconds = metric_family(registry, BuildHistogram(), "coterie_serving_steps_seconds",
                                           "Time that a worker took for the steps before a model")
                                 .Add({}, kSeconds);
  Histogram& request_seconds = metric_family(registry, BuildHistogram(), "coterie_serving_request_seconds",
                                             "Time from a request's coming into the queue until it has all its rows")
                                   .Add({}, kSeconds);
  prometheus::Counter& examples =
      metric_family(registry, BuildCounter(), "coterie_serving_examples_total", "Examples computed").Add({});
  prometheus::Counter& at_once = metric_family(registry, BuildCounter(), "coterie_serving_at_once_total",
                                               "Requests that a network thread computed itself, without a worker")
                                     .Add({});
  prometheus::Family<prometheus::Counter>& failed =
      metric_family(registry, BuildCounter(), "coterie_serving_requests_failed_total",
                    "Requests that were not answered with numbers, by error code");
  prometheus::Family<prometheus::Counter>& shadow = metric_family(
      registry, BuildCounter(), "coterie_serving_shadow_examples_total",
      "Examples that the latest version computed beside the promoted one, by whether the largest value is the same");
  Histogram& shadow_difference = metric_family(registry, BuildHistogram(), "coterie_serving_shadow_difference",
                                               "Largest difference between the two answers to a request")
                                     .Add({}, kDifferences);
  prometheus::Gauge& waiting =
      metric_family(registry, BuildGauge(), "coterie_serving_examples_waiting", "Examples without a worker").Add({});
  prometheus::Gauge& models =
      metric_family(registry, BuildGauge(), "coterie_serving_models", "Models that answer").Add({});
  prometheus::Gauge& versions_loaded =
      metric_family(registry, BuildGauge(), "coterie_serving_versions", "Versions of all models that answer").Add({});
  prometheus::Gauge& bytes = metric_family(registry, BuildGauge(), "coterie_serving_bytes",
                                           "What those versions hold: their files, and what they are compiled into")
                                 .Add({});
  prometheus::Counter& switches =
      metric_family(registry, BuildCounter(), "coterie_serving_promotions_total",
                    "Times that another version of a model was promoted, or one was rolled back")
          .Add({});
  prometheus::Family<prometheus::Gauge>& versions = metric_family(
      registry, BuildGauge(), "coterie_serving_version_info", "The version of a model that was published last: 1");
};

ServingMetrics::ServingMetrics() : families_(std::make_unique<Families>()) {}
ServingMetrics::~ServingMetrics() = default;

void ServingMetrics::waited(double seconds) { families_->waited.Observe(seconds); }

void ServingMetrics::batch_computed(uint64_t rows, double seconds) {
  families_->batch_rows.Observe(static_cast<double>(rows));
  families_->batch_seconds.Observe(seconds);
  families_->examples.Increment(static_cast<double>(rows));
}

void ServingMetrics::computed_at_once() { families_->at_once.Increment(); }

void ServingMetrics::rows_prepared(double seconds) { families_->steps_seconds.Observe(seconds); }

void ServingMetrics::request_computed(double seconds) { families_->request_seconds.Observe(seconds); }

void ServingMetrics::request_failed(const std::string& reason) {
  families_->failed.Add({{"code", reason}}).Increment();
}

void ServingMetrics::set_rows_waiting(uint64_t rows) { families_->waiting.Set(static_cast<double>(rows)); }

void ServingMetrics::shadow_compared(uint64_t rows, uint64_t agreeing, double difference_max) {
  families_->shadow.Add({{"agree", "yes"}}).Increment(static_cast<double>(agreeing));
  families_->shadow.Add({{"agree", "no"}}).Increment(static_cast<double>(rows - agreeing));
  families_->shadow_difference.Observe(difference_max);
}

void ServingMetrics::set_loaded(size_t models, size_t versions, uint64_t bytes) {
  families_->models.Set(static_cast<double>(models));
  families_->versions_loaded.Set(static_cast<double>(versions));
  families_->bytes.Set(static_cast<double>(bytes));
}

void ServingMetrics::promotion_changed() { families_->switches.Increment(); }

void ServingMetrics::model_removed(const std::string& model) { forget_version(model); }

void ServingMetrics::version_published(const std::string& model, const std::string& version,
                                       const std::string& digest) {
  // One row a model: versions come and go with the rounds, and a series that never ends is a leak.
  forget_version(model);
  families_->versions.Add({{"model", model}, {"version", version}, {"digest", digest}}).Set(1);
}

void ServingMetrics::forget_version(const std::string& model) {
  for (const prometheus::MetricFamily& family : families_->versions.Collect()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      prometheus::Labels labels;
      bool is_this = false;
      for (const auto& label : metric.label) {
        labels.emplace(label.name, label.value);
        is_this = is_this || (label.name == "model" && label.value == model);
      }
      if (is_this) families_->versions.Remove(&families_->versions.Add(labels));
    }
  }
}

std::string ServingMetrics::exposition() const {
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace coterie
