// nginx as a sink for uploads, if Debian's nginx and its echo module are installed: the other side of a comparison.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "tests/support/temporary_directory.h"

namespace coterie {

class Nginx {
 public:
  // in_file is nginx's default for bodies over 16 KiB.
  enum class Bodies { in_memory, in_file };
  // One worker, TLS 1.3, a certificate of its own; bodies are read whole and answered with 200.
  static Result<std::unique_ptr<Nginx>> start(Bodies bodies);
  ~Nginx();

  const std::string& url() const { return url_; }
  const std::string& ca_pem() const { return ca_pem_; }
  double cpu_seconds() const;  // of the worker

 private:
  Nginx() = default;
  test::TemporaryDirectory directory_;
  std::string url_, ca_pem_;
  int master_ = -1;
  int worker_ = -1;
};

}  // namespace coterie
