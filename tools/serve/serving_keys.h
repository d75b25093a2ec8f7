// What a serving process proves itself with, and what its clients prove themselves with: made on first use in a
// directory of its own, or the user's files.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "fl_server/net/tls_context.h"
#include "tools/serve/serve_options.h"

namespace coterie {

struct ServingKeys {
  TlsContext tls;
  Digest token;  // token_digest of the client's token
  std::string token_file;
  std::string certificate_file, key_file;  // of `tls`
  std::string ca_file;                     // that clients trust; empty: the user brought the certificate
};

// Errors name the file.
Result<ServingKeys> open_serving_keys(const ServeOptions& options, WallTime now);
// What open_serving_keys has made or found, and nothing made anew: for further processes of the same options.
Result<ServingKeys> reopen_serving_keys(const ServeOptions& options);

}  // namespace coterie
