// Metrics of a process that serves models, by the Prometheus naming conventions. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace coterie {

class ServingMetrics {
 public:
  ServingMetrics();
  ~ServingMetrics();

  // The first rows of a request came to a worker after this long.
  void waited(double seconds);
  // A batch of so many examples took a worker so long.
  void batch_computed(uint64_t rows, double seconds);
  // The network thread did, and no worker.
  void computed_at_once();
  // The steps before a model took a worker so long, for rows of one request or more.
  void rows_prepared(double seconds);
  // A request has all its rows, from its coming into the queue.
  void request_computed(double seconds);
  // Not answered with numbers. `reason` is the stable name of an error code.
  void request_failed(const std::string& reason);
  void set_rows_waiting(uint64_t rows);
  // Rows of a request were computed by the promoted and by the latest version; so many of them agree.
  void shadow_compared(uint64_t rows, uint64_t agreeing, double difference_max);
  // So many models answer, in so many versions, which hold so many bytes.
  void set_loaded(size_t models, size_t versions, uint64_t bytes);
  // From now on another version is promoted, or none.
  void promotion_changed();
  // Nobody is answered with it any more.
  void model_removed(const std::string& model);
  // A version answers to its names.
  void version_published(const std::string& model, const std::string& version, const std::string& digest);

  // The Prometheus text exposition format, version 0.0.4.
  std::string exposition() const;

 private:
  void forget_version(const std::string& model);

  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace coterie
