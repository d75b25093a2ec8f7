// AdminStore: what the admin plane keeps of itself. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "fl_server/admin/admin_token.h"

namespace coterie {

class AdminStore {
 public:
  virtual ~AdminStore() = default;

  virtual Status create_admin_token(
      const AdminTokenRecord& token) = 0;  // conflict if there is one of this id
  virtual Result<AdminTokenRecord> get_admin_token(const std::string& id) = 0;  // not_found
  virtual Result<std::vector<AdminTokenRecord>> list_admin_tokens() = 0;  // oldest first, expired ones, too
  virtual Status remove_admin_token(const std::string& id) = 0;           // not_found
};

}  // namespace coterie
