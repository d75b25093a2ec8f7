#include "fl_server/app/server_stores.h"

#include <string>
#include <utility>

#include "base/os/file.h"
#include "fl_server/app/blob_stores.h"
#include "fl_server/app/data_directory.h"
#include "fl_server/config/server_config.h"
#include "fl_server/store/device_directory.h"
#include "fl_server/store/sql/postgres.h"
#include "fl_server/store/sql/sqlite.h"
#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_device_store.h"
#include "fl_server/store/sql_disk_use.h"
#include "fl_server/store/sql_fleet_store.h"
#include "fl_server/store/sql_lease_store.h"
#include "fl_server/store/sql_training_store.h"
#include "fl_server/store/unnamed_blobs.h"

namespace coterie {
namespace {

constexpr size_t kDevicesCached = 100'000;
constexpr uint64_t kConninfoBytesMax = 16'384;
constexpr const char* kSqliteFile = "coterie.sqlite3";

Result<Database> open_database(const ServerConfig& config, const DataDirectory& data) {
  const StoreConfig& store = config.store;
  if (!store.is_shared()) return open_sqlite(data.path(kSqliteFile));
  COT_ASSIGN(const Bytes conninfo, os::read_file(store.conninfo_file, kConninfoBytesMax));
  PostgresSettings settings{.conninfo = std::string(as_text(conninfo)), .schema = store.schema};
  while (!settings.conninfo.empty() && settings.conninfo.back() == '\n') settings.conninfo.pop_back();
  settings.statement_max = store.statement_max;
  settings.lock_max = store.lock_max;
  return open_postgres(settings);
}

}  // namespace

ServerStores::ServerStores() : unnamed_(std::make_unique<UnnamedBlobs>()) {}
ServerStores::~ServerStores() = default;

Result<std::unique_ptr<ServerStores>> ServerStores::open(const ServerConfig& config, const DataDirectory& data) {
  const auto database = [&] { return open_database(config, data); };
  std::unique_ptr<ServerStores> stores(new ServerStores());
  auto training = SqlTrainingStore::open(database());
  // The first to read what is there: SQLite says what is wrong with a file, and not with which.
  if (!training)
    return config.store.is_shared() ? training.error() : training.error().with_context(data.path(kSqliteFile));
  stores->training_ = *std::move(training);
  COT_ASSIGN(stores->devices_, SqlDeviceStore::open(database()));
  COT_ASSIGN(stores->admin_, SqlAdminStore::open(database()));
  COT_ASSIGN(stores->disk_use_, SqlDiskUse::open(database()));
  if (config.store.is_shared()) {
    COT_ASSIGN(stores->accepts_, SqlTrainingStore::open(database()));
    COT_ASSIGN(stores->fleet_, SqlFleetStore::open(database()));
  }
  if (config.store.is_shared() && config.may_lead()) {
    COT_ASSIGN(stores->leases_, SqlLeaseStore::open(database()));
  }
  COT_ASSIGN(BlobStores blobs, open_blob_stores(config, data));
  stores->blobs_ = std::make_unique<BlobStores>(std::move(blobs));
  stores->directory_ = std::make_unique<DeviceDirectory>(*stores->devices_, kDevicesCached);
  return stores;
}

SqlTrainingStore& ServerStores::training() { return *training_; }
AcceptStore& ServerStores::accepts() { return accepts_ ? *accepts_ : *training_; }
GateStore& ServerStores::gates() { return accepts_ ? *accepts_ : *training_; }
DeviceStore& ServerStores::devices() { return *devices_; }
DeviceDirectory& ServerStores::directory() { return *directory_; }
AdminStore& ServerStores::admin() { return *admin_; }
BlobStore& ServerStores::blobs() { return *blobs_->blobs; }
BlobStore& ServerStores::partials() { return *blobs_->partials; }
const std::shared_ptr<s3::S3Client>& ServerStores::s3() const { return blobs_->s3; }
FleetStore* ServerStores::fleet() { return fleet_.get(); }
LeaseStore* ServerStores::leases() { return leases_.get(); }

}  // namespace coterie
