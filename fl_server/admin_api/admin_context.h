// AdminContext: what the handlers of the admin plane act on. One for the plane; it outlives every call. Handlers run on
// several threads at once: whatever is here is thread-safe, or does not change after the start.
//
// Only names of the large parts stand here: a handler includes the header of what it uses, and of nothing else.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "fl_server/admin_api/stream_places.h"
#include "fl_server/console/console_sessions.h"
#include "fl_server/records/disk_use.h"
#include "fl_server/settings/tenant_quotas.h"
#include "proto/messages/plan.h"
#include "scheduler/fleet/node_report.h"

namespace coterie {

struct AdminCaller;
struct Alarm;
class AdminAuthenticator;
class AdminStore;
class AuditLog;
class BlobStore;
class CanaryStore;
class DeviceDirectory;
class DevicePlane;
class DeviceStore;
class EventHub;
struct EventReader;
class EventSource;
class GateStore;
class JobStore;
class LedgerStore;
class Metrics;
struct ModelEvaluation;
class ModelStore;
class ProviderSignIn;
class RetentionStore;
class RoundScheduler;
class RoundStore;
class UnnamedBlobs;
class VerticalJobs;

struct AdminServiceSettings {
  std::string version;
  uint64_t upload_bytes_max = 512ull << 20;  // of a model or a data set
  size_t pool_threads = 2;
  uint32_t event_streams_max = kEventStreamsMax;  // at a time
  TenantQuotas quotas;
};

// What the service is made of; outlives it.
struct AdminServiceParts {
  RoundScheduler& scheduler;
  DevicePlane& plane;
  JobStore& jobs;
  RoundStore& rounds;
  LedgerStore& ledger;
  ModelStore& models;
  CanaryStore& canaries;
  GateStore& gates;
  DeviceStore& devices;
  DeviceDirectory& directory;
  BlobStore& blobs;
  RetentionStore& retention;
  UnnamedBlobs& unnamed;  // of blobs
  AdminStore& admin;
  Metrics& metrics;
  EventHub& events;
  std::function<Result<std::vector<NodeRow>>()> nodes;    // of the fleet; may block
  std::function<Result<std::string>()> leader;            // the node that leads it; empty: nobody; may block
  std::function<Result<DiskUse>()> disk_use;              // may block
  std::function<std::optional<DiskUse>()> last_disk_use;  // as it was known last; does not block
  std::function<Status(const Bytes& model)> check_model;  // beyond the codec: shapes and ops; may be empty
  // EvaluateModel (fl_server/finalize/finalizer.h); may be empty.
  std::function<Result<ModelEvaluation>(const Bytes& model, const Bytes& dataset, const TrainingSettings& training)>
      evaluate;
  // Whether devices could train the model so; may be empty.
  std::function<Status(const Bytes& model, const TrainingSettings& training)> check_training;
  // Whether devices could evaluate the model so; may be empty.
  std::function<Status(const Bytes& model, const AnalyticsRules& rules)> check_evaluated = {};
  // Verifies a token that is not of ours, an identity provider's, and says who its caller is. Must not block. May be
  // empty: nobody.
  std::function<Result<AdminCaller>(std::string_view token, WallTime now)> verify_foreign = {};
  // The events that another server has, which leads; unavailable if nobody does. May be empty: there is no other. Must
  // not block.
  std::function<Result<std::shared_ptr<EventSource>>(EventReader reader)> remote_events = {};
  // What a round of the job took its time with, as a file for tracing tools; no round: the newest. not_found: it is not
  // kept. May be empty: nothing is.
  std::function<Result<std::string>(const JobId& job, std::optional<uint64_t> round)> round_trace = {};
  // What somebody should look at. Must not block. May be empty: nobody watches.
  std::function<std::vector<Alarm>()> alarms = {};
  // Where people may sign in to the console; null: nowhere but here, with a token.
  ProviderSignIn* provider = nullptr;
  // Jobs of a coordinator that this server is an operator of; null: of none.
  VerticalJobs* vertical = nullptr;
  // A caller has changed one of them. Must not block. May be empty: nobody wants to hear of it.
  std::function<void()> vertical_job_changed = {};
};

struct AdminContext : AdminServiceParts {
  AdminContext(AdminServiceSettings s, AdminServiceParts parts, AdminAuthenticator& a, AuditLog& log, WallTime now)
      : AdminServiceParts(std::move(parts)), settings(std::move(s)), authenticator(a), audit(log), started(now) {}

  const AdminServiceSettings settings;
  AdminAuthenticator& authenticator;
  AuditLog& audit;  // for what the service does not write around a handler
  const WallTime started;
  ConsoleSessions sessions;
  std::atomic<bool> ready{false};
  std::atomic<bool> leading{false};
  // Streams of events that are open. Shared with them: the last may end after the service.
  const std::shared_ptr<StreamPlaces> streams =
      std::make_shared<StreamPlaces>(settings.event_streams_max, settings.quotas.event_streams_max);
};

}  // namespace coterie
