// CertificateRenewal: how the reference device gets its certificates: by a command that carries its request to an
// authority. An app does the same over its own network.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "coterie.h"

namespace coterie {

class CertificateRenewal {
 public:
  // `command`: run by the shell, with the file of the request behind it; empty: never.
  CertificateRenewal(std::string command, std::string state_dir)
      : command_(std::move(command)), request_file_(std::move(state_dir) + "/certificate.request") {}

  // Asks if one is due, and not sooner than a minute after it asked last. Says on standard error what came of it.
  void look(coterie_client* client);

 private:
  std::string command_;
  std::string request_file_;
  std::optional<Instant> asked_;
};

}  // namespace coterie
