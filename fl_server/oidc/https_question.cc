#include "fl_server/oidc/https_question.h"

#include "fl_server/https/verified_transfer.h"

namespace coterie {
namespace {

constexpr std::string_view kCacheControl = "cache-control:";
constexpr size_t kCacheControlBytesMax = 1024;

struct Transfer {
  HttpsAnswer answer;
  size_t body_bytes_max;
  bool too_large = false;
};

bool begins_with_but_for_case(std::string_view text, std::string_view lower) {
  if (text.size() < lower.size()) return false;
  for (size_t i = 0; i < lower.size(); ++i) {
    const char c = text[i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != lower[i]) return false;
  }
  return true;
}

// Callbacks of libcurl: another number than they were given ends the transfer.
size_t take_body(char* data, size_t, size_t size, void* context) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  if (size > transfer.body_bytes_max - transfer.answer.body.size()) {
    transfer.too_large = true;
    return 0;
  }
  transfer.answer.body.append(data, size);
  return size;
}

size_t take_header(char* data, size_t, size_t size, void* context) {
  std::string& list = static_cast<Transfer*>(context)->answer.cache_control;
  std::string_view line(data, size);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (begins_with_but_for_case(line, kCacheControl) && list.size() + line.size() <= kCacheControlBytesMax) {
    list.append(list.empty() ? "" : ",").append(line.substr(kCacheControl.size()));
  }
  return size;
}

bool set_options(const CurlEasy& easy, const HttpsQuestion& question, const std::atomic<bool>& cancelled,
                 Transfer& transfer, char* why) {
  return set_verified(easy, {.url = question.url,
                             .ca_file = question.ca_file,
                             .protocols = "https",
                             .total_max = question.total_max,
                             .cancelled = cancelled,
                             .why = why}) &&
         set_option(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(question.connect_max.count())) &&
         set_option(easy, CURLOPT_WRITEFUNCTION, take_body) &&
         set_option(easy, CURLOPT_WRITEDATA, static_cast<void*>(&transfer)) &&
         set_option(easy, CURLOPT_HEADERFUNCTION, take_header) &&
         set_option(easy, CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
}

// libcurl says that it is application/x-www-form-urlencoded.
bool set_form(const CurlEasy& easy, const HttpsForm& form) {
  const bool posts = set_option(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(form.body.size())) &&
                     set_option(easy, CURLOPT_POSTFIELDS, form.body.c_str());
  return posts && (form.name.empty() || (set_option(easy, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC)) &&
                                         set_option(easy, CURLOPT_USERNAME, form.name.c_str()) &&
                                         set_option(easy, CURLOPT_PASSWORD, form.password.c_str())));
}

Error failure(CURLcode code, const Transfer& transfer, const char* why) {
  if (transfer.too_large) {
    return Error(ErrorCode::too_large,
                 "the answer has more than " + std::to_string(transfer.body_bytes_max) + " bytes");
  }
  if (code == CURLE_ABORTED_BY_CALLBACK) return Error(ErrorCode::cancelled, "stopped while the answer was awaited");
  const std::string words = why[0] != '\0' ? why : curl_easy_strerror(code);
  return Error(code == CURLE_OPERATION_TIMEDOUT ? ErrorCode::timed_out : ErrorCode::unavailable, words);
}

}  // namespace

Result<HttpsAnswer> ask_https(const HttpsQuestion& question, const HttpsForm* form,
                              const std::atomic<bool>& cancelled) {
  char why[CURL_ERROR_SIZE] = {};
  Transfer transfer{.answer = {}, .body_bytes_max = question.body_bytes_max};
  const CurlEasy easy = new_easy();
  if (!easy || !set_options(easy, question, cancelled, transfer, why) || (form != nullptr && !set_form(easy, *form))) {
    return Error(ErrorCode::internal, "libcurl could not be set up for " + question.url);
  }
  const CURLcode code = curl_easy_perform(easy.get());
  if (code != CURLE_OK) return failure(code, transfer, why).with_context(question.url);
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &transfer.answer.status);
  return std::move(transfer.answer);
}

}  // namespace coterie
