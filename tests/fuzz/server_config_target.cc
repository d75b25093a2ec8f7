// Any text as a configuration: a list of problems, or settings that a server can run with.
#include "base/assert.h"
#include "fl_server/config/server_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  Problems problems;
  const ServerConfig config = server_config_from_json(as_text({data, size}), problems);
  for (const Problem& problem : problems) {
    COT_ASSERT(problem.pointer.empty() || problem.pointer[0] == '/');
    COT_ASSERT(!problem.detail.empty());
  }
  if (!problems.empty()) return 0;
  COT_ASSERT(config.role <= ServerRole::serving && !config.data_dir.empty() && !config.node.empty() &&
             config.node.size() <= 64);
  COT_ASSERT(config.threads <= 256);
  for (const ListenConfig* listen : {&config.device, &config.admin}) {
    COT_ASSERT(!listen->address.empty() && listen->limits.connections_max > 0);
    COT_ASSERT(listen->limits.body_bytes_per_second_min > 0);
    COT_ASSERT(listen->limits.idle_max.count() >= 0 && listen->limits.idle_max.count() <= UINT32_MAX);
  }
  COT_ASSERT(config.tls.certificate_file.empty() == config.tls.key_file.empty());
  COT_ASSERT(config.ingest.bytes_in_flight_max >= 1 << 20 && config.ingest.batch_updates_max >= 1);
  COT_ASSERT(config.desk.waiters_max > 0 && config.pace.checkins_per_second_max > 0);
  if (config.blobs.s3) {
    COT_ASSERT(validate(*config.blobs.s3).empty() && config.blobs_dir.empty());
    COT_ASSERT(!config.blobs.access_key_id_file.empty() && !config.blobs.secret_key_file.empty());
  }
  if (config.oidc) COT_ASSERT(validate(*config.oidc).empty());
  return 0;
}
