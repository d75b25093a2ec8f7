// VerticalSettings: which coordinator of vertical jobs a server shows and steers, and as whom (docs/VERTICAL.md).
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace coterie {

struct VerticalSettings {
  std::string address;  // of the coordinator: a name or a number
  uint16_t port = 0;
  std::string name;     // the DNS name in its certificate
  std::string ca_file;  // PEM files: who certified it, and what this server shows, with a name of its `operators`
  std::string certificate_file;
  std::string key_file;
  std::string tenant;        // whose its jobs are
  Millis answer_max{5'000};  // of a question to it
  Millis look_every{2'000};  // after changes of its jobs, which become events
};

}  // namespace coterie
