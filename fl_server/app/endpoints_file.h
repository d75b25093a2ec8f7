// EndpointsFile: endpoints.json in the data directory, there for as long as this is: tools on the same machine find the
// server by it. A server that was killed leaves it behind, and the next one writes it anew.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "fl_server/config/endpoints.h"

namespace coterie {

class EndpointsFile {
 public:
  // On a full disk without the file, and with a warning in the log: devices can still be served what is there.
  static Result<std::unique_ptr<EndpointsFile>> write(const std::string& path, const Endpoints& endpoints);
  ~EndpointsFile() { remove(); }
  EndpointsFile(const EndpointsFile&) = delete;
  EndpointsFile& operator=(const EndpointsFile&) = delete;

  const Endpoints& endpoints() const { return endpoints_; }
  // The server takes no more connections. Once is enough.
  void remove();

 private:
  EndpointsFile(std::string path, Endpoints endpoints) : path_(std::move(path)), endpoints_(std::move(endpoints)) {}

  const std::string path_;
  const Endpoints endpoints_;
  bool is_removed_ = false;
};

}  // namespace coterie
