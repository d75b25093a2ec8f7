// DemoServer: the fl_server of a demo, a child process on a directory and ports of its own, and what we ask it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "tools/admin/admin_client.h"
#include "tools/demo/child_process.h"
#include "tools/demo/run_folder.h"

namespace coterie {

class DemoServer {
 public:
  // Starts it and waits until it answers. Errors: it did not start (its last words), timed_out, cancelled.
  static Result<std::unique_ptr<DemoServer>> start(const RunFolder& folder, uint64_t seed);
  ~DemoServer() { stop(); }

  const ServerEndpoints& endpoints() const { return endpoints_; }
  AdminClient& admin() { return *admin_; }
  // An error with its last words if the process has ended.
  Status check();
  void stop();

  // Each names what was asked for when it fails. Digests and ids as text.
  Result<Digest> upload(const std::string& what, ByteView file);  // "models" or "datasets"
  Result<std::string> create_token(uint32_t uses);
  Result<std::string> create_job(const std::string& request);
  Result<uint64_t> count_devices();
  Result<Bytes> download_model(const std::string& job, uint64_t version);
  // Time spent finalizing since the server started, by its own metrics; 0 if it does not say.
  double finalize_seconds();

 private:
  explicit DemoServer(Child child) : child_(std::move(child)) {}
  Status wait_until_ready(const RunFolder& folder);
  // `failed`, or that the process has ended, which explains more.
  Error explain(const Error& failed, const std::string& what);

  Child child_;
  ServerEndpoints endpoints_;
  std::unique_ptr<AdminClient> admin_;
};

// The path of the running program; programs of one build lie side by side.
Result<std::string> own_path();

// The value of a metric without labels in a Prometheus text; 0 if it is not there. Pure.
double metric_value(std::string_view exposition, std::string_view name);

}  // namespace coterie
