#include "fl_server/tracing/otlp_post.h"

#include <curl/curl.h>

#include <memory>

namespace coterie {
namespace {

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, FreeEasy>;
using Headers = std::unique_ptr<curl_slist, FreeList>;

// What a collector says beyond its status is of no use here.
size_t pass_over(char*, size_t, size_t size, void*) { return size; }

int is_over(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(context)->load() ? 1 : 0;
}

template <typename T>
bool set(const Easy& easy, CURLoption option, T value) {
  return curl_easy_setopt(easy.get(), option, value) == CURLE_OK;
}

bool add(Headers& headers, const std::string& line) {
  curl_slist* const longer = curl_slist_append(headers.get(), line.c_str());
  if (longer == nullptr) return false;
  [[maybe_unused]] curl_slist* const same = headers.release();
  headers.reset(longer);
  return true;
}

bool set_options(const Easy& easy, const OtlpCollector& collector, const std::string& body, const Headers& headers,
                 const std::atomic<bool>& cancelled, char* why) {
  const bool trusted = collector.ca_file.empty() || (set(easy, CURLOPT_CAINFO, collector.ca_file.c_str()) &&
                                                     set(easy, CURLOPT_CAPATH, static_cast<char*>(nullptr)));
  return trusted && set(easy, CURLOPT_ERRORBUFFER, why) && set(easy, CURLOPT_URL, collector.url.c_str()) &&
         set(easy, CURLOPT_PROTOCOLS_STR, "https,http") && set(easy, CURLOPT_FOLLOWLOCATION, 0L) &&
         set(easy, CURLOPT_SSL_VERIFYPEER, 1L) && set(easy, CURLOPT_SSL_VERIFYHOST, 2L) &&
         set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2)) && set(easy, CURLOPT_PROXY, "") &&
         set(easy, CURLOPT_NOSIGNAL, 1L) &&
         set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(collector.total_max.count())) &&
         set(easy, CURLOPT_HTTPHEADER, headers.get()) && set(easy, CURLOPT_POSTFIELDS, body.data()) &&
         set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size())) &&
         set(easy, CURLOPT_WRITEFUNCTION, pass_over) && set(easy, CURLOPT_NOPROGRESS, 0L) &&
         set(easy, CURLOPT_XFERINFOFUNCTION, is_over) &&
         set(easy, CURLOPT_XFERINFODATA, const_cast<void*>(static_cast<const void*>(&cancelled)));
}

}  // namespace

Status otlp_post(const OtlpCollector& collector, const std::string& body, const std::atomic<bool>& cancelled) {
  static const bool is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  char why[CURL_ERROR_SIZE] = {};
  const Easy easy(is_ready ? curl_easy_init() : nullptr);
  Headers headers;
  const bool has_headers = add(headers, "Content-Type: application/json") &&
                           (collector.token.empty() || add(headers, "Authorization: Bearer " + collector.token));
  if (!easy || !has_headers || !set_options(easy, collector, body, headers, cancelled, why)) {
    return Error(ErrorCode::unavailable, "libcurl could not be set up for " + collector.url);
  }
  const CURLcode code = curl_easy_perform(easy.get());
  if (code == CURLE_ABORTED_BY_CALLBACK) return Error(ErrorCode::cancelled, "stopped while the answer was awaited");
  if (code != CURLE_OK) {
    return Error(ErrorCode::unavailable, collector.url + ": " + (why[0] != '\0' ? why : curl_easy_strerror(code)));
  }
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) return {};
  const bool may_pass = status == 429 || status == 502 || status == 503 || status == 504;
  return Error(may_pass ? ErrorCode::unavailable : ErrorCode::invalid_argument,
               collector.url + ": answered " + std::to_string(status) + ", expected 200");
}

}  // namespace coterie
