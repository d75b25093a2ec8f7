// AdminCall: a request of the admin plane as its handler sees it: found in the table, its caller known and allowed to
// ask, its body read.
#pragma once

#include <map>
#include <string>

#include "fl_server/admin/admin_authenticator.h"
#include "fl_server/net/http_types.h"
#include "fl_server/records/admin_token.h"

namespace coterie {

struct AdminCall {
  const RequestHead& head;
  AdminCaller caller;
  std::map<std::string, std::string> path;   // the pattern's parameters
  std::map<std::string, std::string> query;  // each key once
  Bytes body;
  std::string session;     // the secret of the console's session that shows the caller; empty: a bearer token does
  std::string request;     // its id in the audit log; empty for what only reads
  CallerKey address = {};  // where it came from
};

}  // namespace coterie
