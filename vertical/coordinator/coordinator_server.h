// CoordinatorServer: the shell of the coordinator's machine. One thread with poll(): it takes connections, does their
// TLS, hands requests to the machine, stores before it answers, carries bytes between the two of a pair, and
// compares what more than two parties have blinded.
//
// It cannot read what it carries: that is the TLS of the parties inside (secure_inside()). What it deals goes to each
// party in the TLS of its own connection. If a record cannot be stored,
// it ends with that error; what is durable is what everybody was told.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/result.h"
#include "secure/crypto/secret.h"
#include "vertical/coordinator/coordinator_machine.h"
#include "vertical/link/tls_link.h"

namespace coterie::vertical {

class JobStore {
 public:
  virtual ~JobStore() = default;
  // Durable when it returns.
  virtual Status put(const JobRecord& record) = 0;
  virtual Status remove(const VerticalJobId& job) = 0;
  // What all that is dealt in this job is made of: drawn once, durable, and gone when a put() says that the job is
  // over. An error but storage_full ends this job alone, as "dealer_lost".
  virtual Result<Secret<32>> dealing_secret(const VerticalJobId& job) = 0;
};

struct CoordinatorAddress {
  std::string host;  // numeric, where the server listens
  uint16_t port = 0;
};

class CoordinatorServer {
 public:
  // `identity` without a peer_name: any certificate of the authority may come in. `store` outlives the server.
  static Result<std::unique_ptr<CoordinatorServer>> open(const CoordinatorAddress& address, const TlsIdentity& identity,
                                                         const CoordinatorLimits& limits, CoordinatorMachine machine,
                                                         JobStore& store);
  virtual ~CoordinatorServer() = default;

  virtual uint16_t port() const = 0;
  // Until `stop` is true, which it looks at several times a second; or the store's error.
  virtual Status run(const std::atomic<bool>& stop) = 0;
};

}  // namespace coterie::vertical
