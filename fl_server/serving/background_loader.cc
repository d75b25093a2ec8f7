#include "fl_server/serving/background_loader.h"

#include <utility>

#include "fl_server/serving/model_server.h"
#include "fl_server/store/blob_store.h"

namespace coterie {

BackgroundLoader::BackgroundLoader(BlobStore& blobs, uint64_t file_bytes_max, ModelServer& server,
                                   std::function<void()> ended)
    : blobs_(blobs), file_bytes_max_(file_bytes_max), server_(server), ended_(std::move(ended)) {}

Result<std::shared_ptr<ServedVersion>> BackgroundLoader::load(const VersionToLoad& wanted, const Digest& file,
                                                              const std::shared_ptr<const ServingSteps>& steps) {
  COT_ASSIGN(Bytes bytes, blobs_.get(file, file_bytes_max_));
  return server_.prepare(std::move(bytes), wanted.version, wanted.promotes, steps);
}

// Versions are few, so that each may have a new thread.
void BackgroundLoader::begin(const VersionToLoad& wanted, const Digest& file,
                             const std::shared_ptr<const ServingSteps>& steps) {
  stop();
  thread_ = std::thread([this, wanted, file, steps] {
    auto version = load(wanted, file, steps);
    {
      const std::lock_guard lock(mutex_);
      outcome_ = std::move(version);
    }
    ended_();
  });
}

std::optional<Result<std::shared_ptr<ServedVersion>>> BackgroundLoader::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(outcome_, std::nullopt);
}

void BackgroundLoader::stop() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace coterie
