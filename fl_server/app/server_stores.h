// ServerStores: everything that outlives this process: the database, by subject, and the blobs, wherever the
// configuration says. Each store of the database has a connection of its own, so that none waits for another's.
#pragma once

#include <memory>

#include "base/result.h"

namespace coterie {

class AcceptStore;
class AdminStore;
class BlobStore;
class DataDirectory;
class DeviceDirectory;
class DeviceStore;
class FleetStore;
class GateStore;
class LeaseStore;
struct BlobStores;
struct ServerConfig;
class SqlAdminStore;
class SqlDeviceStore;
class SqlDiskUse;
class SqlFleetStore;
class SqlLeaseStore;
class SqlTrainingStore;
class UnnamedBlobs;
namespace s3 {
class S3Client;
}  // namespace s3

class ServerStores {
 public:
  // Makes or brings up to date what there is. The error names the file or the database that is wrong.
  static Result<std::unique_ptr<ServerStores>> open(const ServerConfig& config, const DataDirectory& data);

  ~ServerStores();

  SqlTrainingStore& training();
  // Where updates are accepted: in a fleet that goes on whoever leads, so it is a store without the leader's fence.
  AcceptStore& accepts();
  GateStore& gates();  // likewise
  DeviceStore& devices();
  DeviceDirectory& directory();
  AdminStore& admin();
  SqlDiskUse& disk_use() { return *disk_use_; }
  BlobStore& blobs();
  BlobStore& partials();
  UnnamedBlobs& unnamed() { return *unnamed_; }     // of blobs()
  const std::shared_ptr<s3::S3Client>& s3() const;  // null: blobs are in a directory

  // ---- Of a fleet; null: this server is alone
  FleetStore* fleet();
  LeaseStore* leases();  // null also where this server may not lead

 private:
  ServerStores();

  std::unique_ptr<SqlTrainingStore> training_;
  std::unique_ptr<SqlTrainingStore> accepts_;
  std::unique_ptr<SqlDeviceStore> devices_;
  std::unique_ptr<SqlAdminStore> admin_;
  std::unique_ptr<SqlFleetStore> fleet_;
  std::unique_ptr<SqlLeaseStore> leases_;
  std::unique_ptr<SqlDiskUse> disk_use_;
  std::unique_ptr<BlobStores> blobs_;
  std::unique_ptr<UnnamedBlobs> unnamed_;
  std::unique_ptr<DeviceDirectory> directory_;
};

}  // namespace coterie
