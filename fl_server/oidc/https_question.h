// One HTTPS question with a short answer: how an issuer is asked for its keys (https_get.h) and for tokens
// (https_post.h). By libcurl. Blocks.
//
// The certificate is verified, and that it is the host's; TLS 1.2 at least. Nothing but https, no redirects,
// no proxy of the environment, no cookies, no compression. For many questions one after the other, not for
// speed.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace coterie {

struct HttpsQuestion {
  std::string url;
  std::string ca_file;  // PEM: who may certify the server; empty: whom the system trusts
  size_t body_bytes_max = 0;
  Millis connect_max{5'000};
  Millis total_max{15'000};
};

struct HttpsAnswer {
  std::string body;
  std::string cache_control;  // the header; empty if there is none. Several are one list
  long status = 0;
};

// What a POST sends.
struct HttpsForm {
  std::string body;            // application/x-www-form-urlencoded
  std::string name, password;  // by the Basic scheme; empty: none
};

// With a form a POST, else a GET. An answer of any status is an answer. unavailable: no such host, no connection, a
// certificate that is not trusted, or cut off; timed_out; too_large; cancelled: `cancelled` was set by another thread.
// Messages have libcurl's words, which name hosts and files.
Result<HttpsAnswer> ask_https(const HttpsQuestion& question, const HttpsForm* form, const std::atomic<bool>& cancelled);

}  // namespace coterie
