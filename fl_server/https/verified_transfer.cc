#include "fl_server/https/verified_transfer.h"

namespace coterie {
namespace {

// Another number than 0 ends the transfer.
int is_over(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(context)->load() ? 1 : 0;
}

}  // namespace

bool CurlHeaders::add(const std::string& line) {
  curl_slist* const longer = curl_slist_append(list_.get(), line.c_str());
  if (longer == nullptr) return false;
  [[maybe_unused]] curl_slist* const same = list_.release();  // which `longer` begins with
  list_.reset(longer);
  return true;
}

CurlEasy new_easy() {
  static const bool is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return CurlEasy(is_ready ? curl_easy_init() : nullptr);
}

bool set_verified(const CurlEasy& easy, const VerifiedTransfer& transfer) {
  const bool trusted = transfer.ca_file.empty() || (set_option(easy, CURLOPT_CAINFO, transfer.ca_file.c_str()) &&
                                                    set_option(easy, CURLOPT_CAPATH, static_cast<char*>(nullptr)));
  return trusted && set_option(easy, CURLOPT_ERRORBUFFER, transfer.why) &&
         set_option(easy, CURLOPT_URL, transfer.url.c_str()) &&
         set_option(easy, CURLOPT_PROTOCOLS_STR, transfer.protocols) && set_option(easy, CURLOPT_FOLLOWLOCATION, 0L) &&
         set_option(easy, CURLOPT_SSL_VERIFYPEER, 1L) && set_option(easy, CURLOPT_SSL_VERIFYHOST, 2L) &&
         set_option(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2)) &&
         set_option(easy, CURLOPT_PROXY, "") && set_option(easy, CURLOPT_NOSIGNAL, 1L) &&
         set_option(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(transfer.total_max.count())) &&
         set_option(easy, CURLOPT_NOPROGRESS, 0L) && set_option(easy, CURLOPT_XFERINFOFUNCTION, is_over) &&
         set_option(easy, CURLOPT_XFERINFODATA, const_cast<void*>(static_cast<const void*>(&transfer.cancelled)));
}

}  // namespace coterie
