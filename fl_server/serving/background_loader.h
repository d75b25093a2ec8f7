// BackgroundLoader: a VersionLoader that fetches files from the blob store and has a ModelServer prepare them, on a
// thread of its own.
#pragma once

#include <functional>
#include <mutex>
#include <thread>

#include "fl_server/serving/version_loader.h"

namespace coterie {

class BlobStore;
class ModelServer;

class BackgroundLoader final : public VersionLoader {
 public:
  // What is referred to outlives it. `ended` is called on its thread after each version.
  BackgroundLoader(BlobStore& blobs, uint64_t file_bytes_max, ModelServer& server, std::function<void()> ended);
  ~BackgroundLoader() override { stop(); }

  void begin(const VersionToLoad& wanted, const Digest& file,
             const std::shared_ptr<const ServingSteps>& steps) override;
  std::optional<Result<std::shared_ptr<ServedVersion>>> take() override;
  // Waits for what is under way.
  void stop();

 private:
  Result<std::shared_ptr<ServedVersion>> load(const VersionToLoad& wanted, const Digest& file,
                                              const std::shared_ptr<const ServingSteps>& steps);

  BlobStore& blobs_;
  const uint64_t file_bytes_max_;
  ModelServer& server_;
  const std::function<void()> ended_;
  std::mutex mutex_;
  std::optional<Result<std::shared_ptr<ServedVersion>>> outcome_;  // guarded by mutex_
  std::thread thread_;                                             // of the version that was begun last
};

}  // namespace coterie
