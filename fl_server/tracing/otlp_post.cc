#include "fl_server/tracing/otlp_post.h"

#include "fl_server/https/verified_transfer.h"

namespace coterie {
namespace {

// What a collector says beyond its status is of no use here.
size_t pass_over(char*, size_t, size_t size, void*) { return size; }

bool set_options(const CurlEasy& easy, const OtlpCollector& collector, const std::string& body,
                 const CurlHeaders& headers, const std::atomic<bool>& cancelled, char* why) {
  return set_verified(easy, {.url = collector.url,
                             .ca_file = collector.ca_file,
                             .protocols = "https,http",
                             .total_max = collector.total_max,
                             .cancelled = cancelled,
                             .why = why}) &&
         set_option(easy, CURLOPT_HTTPHEADER, headers.get()) && set_option(easy, CURLOPT_POSTFIELDS, body.data()) &&
         set_option(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size())) &&
         set_option(easy, CURLOPT_WRITEFUNCTION, pass_over);
}

}  // namespace

Status otlp_post(const OtlpCollector& collector, const std::string& body, const std::atomic<bool>& cancelled) {
  char why[CURL_ERROR_SIZE] = {};
  const CurlEasy easy = new_easy();
  CurlHeaders headers;
  const bool has_headers = headers.add("Content-Type: application/json") &&
                           (collector.token.empty() || headers.add("Authorization: Bearer " + collector.token));
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
