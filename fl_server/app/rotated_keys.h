// Which files an operator may replace while the server runs, and where each goes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fl_server/app/file_rotation.h"
#include "fl_server/app/server_keys.h"

namespace coterie {

// Each is called on the rotation's thread.
struct KeyUsers {
  std::function<void(const TlsContext&)> take_tls;
  std::function<void(const std::string&)> take_admin_token;
  std::function<void(std::shared_ptr<const MacKey>)> take_old_tickets;  // null: there are none any more
  std::function<void(const std::vector<KeyStatement>&)> take_key_statements;
};

// For FileRotation. `keys` outlives what it gives; nothing in `keys` changes.
std::vector<RotatedFiles> rotated_keys(const ServerKeys& keys, KeyUsers users);

}  // namespace coterie
