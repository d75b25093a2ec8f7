#include "fl_server/store/s3/https_pool.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>

namespace coterie::s3 {

struct HttpsPool::Handle {
  CURL* easy = curl_easy_init();
  ~Handle() { curl_easy_cleanup(easy); }
};

namespace {

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

struct Transfer {
  const HttpsRequest& request;
  const HttpsPool& pool;
  HttpsReply reply;
  size_t sent = 0;
  size_t head_bytes = 0;
  bool too_large = false;
  char why[CURL_ERROR_SIZE] = {};
};

// Callbacks of libcurl: another number than they were given ends the transfer.
size_t take_body(char* data, size_t, size_t size, void* context) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  Bytes& body = transfer.reply.body;
  if (size > transfer.request.answer_bytes_max - body.size()) {
    transfer.too_large = true;
    return 0;
  }
  body.insert(body.end(), data, data + size);
  return size;
}

size_t take_header(char* data, size_t, size_t size, void* context) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  transfer.head_bytes += size;
  if (transfer.head_bytes > kHeadBytesMax) {
    transfer.too_large = true;
    return 0;
  }
  std::string_view line(data, size);
  if (line.starts_with("HTTP/")) transfer.reply.headers.clear();  // what came before was 100 Continue
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name(line.substr(0, colon));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  line.remove_prefix(colon + 1);
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  transfer.reply.headers.emplace_back(std::move(name), line);
  return size;
}

size_t give_body(char* into, size_t, size_t size_max, void* context) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  const ByteView rest = transfer.request.body.subspan(transfer.sent);
  const size_t count = std::min(rest.size(), size_max);
  if (count > 0) std::memcpy(into, rest.data(), count);
  transfer.sent += count;
  return count;
}

// libcurl begins the body again when a kept connection turns out to be dead.
int seek_body(void* context, curl_off_t offset, int origin) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  if (origin != SEEK_SET || offset < 0 || static_cast<uint64_t>(offset) > transfer.request.body.size())
    return CURL_SEEKFUNC_FAIL;
  transfer.sent = static_cast<size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

int is_over(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const Transfer*>(context)->pool.is_cancelled() ? 1 : 0;
}

template <typename T>
bool set(CURL* easy, CURLoption option, T value) {
  return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

bool set_method(CURL* easy, const HttpsRequest& request) {
  if (request.method == "GET") return set(easy, CURLOPT_HTTPGET, 1L);
  if (request.method == "HEAD") return set(easy, CURLOPT_NOBODY, 1L);
  if (request.method == "DELETE") return set(easy, CURLOPT_CUSTOMREQUEST, "DELETE");
  if (request.method == "PUT") {
    return set(easy, CURLOPT_UPLOAD, 1L) &&
           set(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  return request.method == "POST" && set(easy, CURLOPT_POST, 1L) &&
         set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
}

bool set_trust(CURL* easy, const std::string& ca_file) {
  return ca_file.empty() ||
         (set(easy, CURLOPT_CAINFO, ca_file.c_str()) && set(easy, CURLOPT_CAPATH, static_cast<char*>(nullptr)));
}

bool add_headers(const HttpsRequest& request, HeaderList& list) {
  std::vector<std::string> lines = request.headers;
  for (const char* unwanted : {"Expect:", "Accept:", "Content-Type:"}) lines.emplace_back(unwanted);  // libcurl's own
  for (const std::string& line : lines) {
    curl_slist* longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) return false;
    (void)list.release();
    list.reset(longer);
  }
  return true;
}

// All or none: an option that this libcurl does not know is a transfer that does not begin.
bool set_options(CURL* easy, const std::string& ca_file, Millis connect_max, Transfer& transfer, HeaderList& headers) {
  const HttpsRequest& request = transfer.request;
  void* const context = &transfer;
  return set_trust(easy, ca_file) && add_headers(request, headers) && set_method(easy, request) &&
         set(easy, CURLOPT_ERRORBUFFER, transfer.why) && set(easy, CURLOPT_URL, request.url.c_str()) &&
         set(easy, CURLOPT_HTTPHEADER, headers.get()) && set(easy, CURLOPT_PROTOCOLS_STR, "https") &&
         set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1)) &&
         set(easy, CURLOPT_PATH_AS_IS, 1L) && set(easy, CURLOPT_FOLLOWLOCATION, 0L) &&
         set(easy, CURLOPT_SSL_VERIFYPEER, 1L) && set(easy, CURLOPT_SSL_VERIFYHOST, 2L) &&
         set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2)) && set(easy, CURLOPT_PROXY, "") &&
         set(easy, CURLOPT_NOSIGNAL, 1L) && set(easy, CURLOPT_TCP_KEEPALIVE, 1L) &&
         set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect_max.count())) &&
         set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.transfer_max.count())) &&
         set(easy, CURLOPT_READFUNCTION, give_body) && set(easy, CURLOPT_READDATA, context) &&
         set(easy, CURLOPT_SEEKFUNCTION, seek_body) && set(easy, CURLOPT_SEEKDATA, context) &&
         set(easy, CURLOPT_WRITEFUNCTION, take_body) && set(easy, CURLOPT_WRITEDATA, context) &&
         set(easy, CURLOPT_HEADERFUNCTION, take_header) && set(easy, CURLOPT_HEADERDATA, context) &&
         set(easy, CURLOPT_NOPROGRESS, 0L) && set(easy, CURLOPT_XFERINFOFUNCTION, is_over) &&
         set(easy, CURLOPT_XFERINFODATA, context);
}

Error failure(CURLcode code, const Transfer& transfer) {
  if (transfer.too_large) {
    return Error(ErrorCode::too_large, "the answer has more than " + std::to_string(transfer.request.answer_bytes_max) +
                                           " bytes, or a head of more than " + std::to_string(kHeadBytesMax));
  }
  if (code == CURLE_ABORTED_BY_CALLBACK) return Error(ErrorCode::cancelled, "stopped while the store was asked");
  const std::string words = transfer.why[0] != '\0' ? transfer.why : curl_easy_strerror(code);
  return Error(code == CURLE_OPERATION_TIMEDOUT ? ErrorCode::timed_out : ErrorCode::unavailable, words);
}

}  // namespace

std::string_view HttpsReply::header(std::string_view name) const {
  const auto found =
      std::ranges::find(headers, name, [](const auto& header) { return std::string_view(header.first); });
  return found != headers.end() ? std::string_view(found->second) : std::string_view();
}

HttpsPool::HttpsPool(std::string ca_file, Millis connect_max)
    : ca_file_(std::move(ca_file)), connect_max_(connect_max) {
  static const bool is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  (void)is_ready;  // if it is not, there are no handles
}

HttpsPool::~HttpsPool() = default;

std::unique_ptr<HttpsPool::Handle> HttpsPool::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Handle>();
  std::unique_ptr<Handle> handle = std::move(idle_.back());
  idle_.pop_back();
  return handle;
}

void HttpsPool::give_back(std::unique_ptr<Handle> handle) {
  curl_easy_reset(handle->easy);  // of options; the connection stays
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kKeptConnectionsMax) idle_.push_back(std::move(handle));
}

Result<HttpsReply> HttpsPool::send(const HttpsRequest& request) {
  std::unique_ptr<Handle> handle = take();
  Transfer transfer{.request = request, .pool = *this, .reply = {}};
  HeaderList headers;
  if (handle->easy == nullptr || !set_options(handle->easy, ca_file_, connect_max_, transfer, headers)) {
    return Error(ErrorCode::internal, "libcurl could not be set up for " + request.method + " " + request.url);
  }
  const CURLcode code = curl_easy_perform(handle->easy);
  long status = 0;
  curl_easy_getinfo(handle->easy, CURLINFO_RESPONSE_CODE, &status);
  give_back(std::move(handle));
  if (code != CURLE_OK) return failure(code, transfer);
  transfer.reply.status = static_cast<int>(status);
  return std::move(transfer.reply);
}

}  // namespace coterie::s3
