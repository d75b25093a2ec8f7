#include "fl_server/app/blob_stores.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "fl_server/store/directory_blob_store.h"
#include "fl_server/store/s3/s3_blob_store.h"
#include "fl_server/store/s3/s3_client.h"

namespace coterie {
namespace {

constexpr uint64_t kKeyFileBytesMax = 1024;

Result<std::string> read_line(const std::string& path) {
  COT_ASSIGN(const Bytes bytes, os::read_file(path, kKeyFileBytesMax));
  std::string text(as_text(bytes));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

Result<std::shared_ptr<s3::S3Client>> make_client(const BlobsConfig& config) {
  COT_ASSIGN(const std::string id, read_line(config.access_key_id_file));
  COT_ASSIGN(std::string secret, read_line(config.secret_key_file));
  Result<s3::Credentials> credentials = s3::Credentials::make(id, secret);
  wipe(std::span(reinterpret_cast<uint8_t*>(secret.data()), secret.size()));
  if (!credentials) return credentials.error().with_context(config.access_key_id_file + ", " + config.secret_key_file);
  return std::make_shared<s3::S3Client>(*config.s3, std::move(*credentials), [] { return os::wall_now(); });
}

Result<BlobStores> open_s3(const ServerConfig& config, const DataDirectory& data) {
  BlobStores stores;
  COT_ASSIGN(stores.s3, make_client(config.blobs));
  COT_ASSIGN(stores.blobs, S3BlobStore::open_bucket(stores.s3, "blobs/", data.path("spool/blobs")));
  COT_ASSIGN(stores.partials, S3BlobStore::open_bucket(stores.s3, "partials/", data.path("spool/partials")));
  return stores;
}

}  // namespace

Result<BlobStores> open_blob_stores(const ServerConfig& config, const DataDirectory& data) {
  if (config.blobs.s3) return open_s3(config, data);
  const std::string root = config.blobs_dir.empty() ? config.data_dir : config.blobs_dir;
  const std::string writer = config.store.is_shared() ? config.node : "";
  BlobStores stores;
  COT_ASSIGN(stores.blobs, DirectoryBlobStore::open_directory(root + "/blobs", writer, &os::crash::model_blob));
  COT_ASSIGN(stores.partials, DirectoryBlobStore::open_directory(root + "/partials", writer, &os::crash::partial_blob));
  return stores;
}

struct StoreTimeLimit::Watch {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
  std::thread thread;
};

StoreTimeLimit::StoreTimeLimit(std::shared_ptr<s3::S3Client> client, Millis patience) {
  if (!client) return;
  watch_ = std::make_unique<Watch>();
  watch_->thread = std::thread([watch = watch_.get(), client = std::move(client), patience] {
    std::unique_lock lock(watch->mutex);
    if (watch->changed.wait_for(lock, patience, [watch] { return watch->is_over; })) return;
    log(LogLevel::warning, "s3_requests_cancelled");
    client->cancel();
  });
}

StoreTimeLimit::~StoreTimeLimit() {
  if (!watch_) return;
  {
    const std::lock_guard lock(watch_->mutex);
    watch_->is_over = true;
  }
  watch_->changed.notify_all();
  watch_->thread.join();
}

}  // namespace coterie
