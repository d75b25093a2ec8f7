// What `coterie serve` is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace coterie {

struct ServeOptions {
  std::string source;  // a model file, or a folder with model.cotf; empty: `job`
  std::string job;     // of a server: its models, as rounds publish them
  std::string steps;   // a file of what happens before the model and behind it; empty: nothing
  std::string name;    // that clients ask by; empty: of the file, or the job's id
  std::string address = "127.0.0.1";
  uint16_t port = 8500;               // 0: the system chooses
  std::optional<uint16_t> grpc_port;  // a second door; 0: the system chooses
  uint32_t processes = 1;             // that share the port; each has the workers
  uint32_t hung_after_s = 30;         // without a sign of life one of several is killed; 0: never
  uint32_t workers = 0;               // 0: one a core, of each process its share
  uint32_t batch_max = 32;
  uint64_t waiting_max = 4096;
  uint32_t wait_ms_max = 10'000;
  uint32_t body_mib_max = 16;
  uint32_t canary_percent = 0;
  bool has_shadow = false;
  std::string state_dir = "coterie-serving";  // token and certificates, made on first use
  std::string client_token_file;              // empty: of the state directory
  std::string certificate_file, key_file;     // empty: likewise
  bool is_insecure = false;                   // neither TLS nor a token, on loopback
};

}  // namespace coterie
