// ScalarLog: one event file in the directory that TensorBoard's --logdir names, written as the steps come.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/os/file.h"
#include "base/result.h"
#include "tools/tensorboard/event_encoder.h"
#include "tools/tensorboard/scalar_sink.h"

namespace coterie {

class ScalarLog {
 public:
  // Writes nothing, wherever it is asked to.
  ScalarLog() = default;
  // A file of its own in `directory`, which is made if it is not there; empty: one that writes nothing. Errors: those
  // of the system.
  static Result<ScalarLog> create(const std::string& directory);
  // From now on `sink` takes what is added, too, also where no file is written. Null: nobody.
  void tell(std::shared_ptr<ScalarSink> sink) { sink_ = std::move(sink); }
  // Shows the sink a file that the run has left and that outlives this log. It is no part of the event file.
  void leave(std::string path) {
    if (sink_) sink_->take_file(std::move(path));
  }
  // The run is over, as it should be.
  void finished() {
    if (sink_) sink_->finished();
  }

  // Before an add(): left out if there is no number.
  void note(const std::string& tag, std::optional<double> value) {
    if (value && std::isfinite(*value)) scalars_.push_back({tag, static_cast<float>(*value)});
  }
  // Writes what was noted as one record, by the system's clock; nothing if nothing was noted. It is in the file when
  // this returns.
  Status add(uint64_t step);

  // Empty for one that writes nothing.
  const std::string& path() const { return file_.path(); }

 private:
  explicit ScalarLog(os::File file) : file_(std::move(file)) {}

  os::File file_;
  std::vector<Scalar> scalars_;
  std::shared_ptr<ScalarSink> sink_;
};

}  // namespace coterie
