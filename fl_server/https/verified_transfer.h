// What this server's questions to others over HTTPS have in common, whoever asks: by libcurl.
#pragma once

#include <curl/curl.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/time.h"

namespace coterie {

struct FreeCurlEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using CurlEasy = std::unique_ptr<CURL, FreeCurlEasy>;

// The header lines of a question, beside libcurl's own.
class CurlHeaders {
 public:
  // False: there is no memory for it.
  bool add(const std::string& line);
  // For CURLOPT_HTTPHEADER, which does not copy it.
  curl_slist* get() const { return list_.get(); }

 private:
  struct Free {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  std::unique_ptr<curl_slist, Free> list_;
};

template <typename T>
bool set_option(const CurlEasy& easy, CURLoption option, T value) {
  return curl_easy_setopt(easy.get(), option, value) == CURLE_OK;
}

struct VerifiedTransfer {
  const std::string& url;
  const std::string& ca_file;  // PEM: who may certify the server; empty: whom the system trusts
  const char* protocols;       // "https"
  Millis total_max;
  const std::atomic<bool>& cancelled;  // set by another thread: the transfer ends with CURLE_ABORTED_BY_CALLBACK
  char* why;                           // CURL_ERROR_SIZE bytes, for libcurl's words
};

// Null: libcurl could not be set up.
CurlEasy new_easy();
// The certificate is verified, and that it is the host's; TLS 1.2 at least. No redirects, no proxy of the environment.
// All or none: with an option that this libcurl does not know it is false, and the transfer must not begin. What is
// referred to outlives the transfer.
bool set_verified(const CurlEasy& easy, const VerifiedTransfer& transfer);

}  // namespace coterie
