#include "fl_server/fleet/peer_client.h"

#include <curl/curl.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr int kPollMs = 1'000;
constexpr long kConnectMs = 3'000;
constexpr std::string_view kCohortSize = "coterie-cohort-size:";
constexpr size_t kCohortSizeBytesMax = 20;

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Transfer {
  PeerRequest request;
  std::function<void(Result<PeerAnswer>)> done;
  PeerAnswer answer;
  std::unique_ptr<curl_slist, FreeList> headers;
  char why[CURL_ERROR_SIZE] = {};
};

// Callbacks of libcurl: another number than they were given ends the transfer.
size_t take_body(char* data, size_t, size_t size, void* context) {
  Bytes& body = static_cast<Transfer*>(context)->answer.body;
  if (size > PeerClient::kAnswerBytesMax - body.size()) return 0;
  body.insert(body.end(), data, data + size);
  return size;
}

size_t take_header(char* data, size_t, size_t size, void* context) {
  std::string line(data, size);
  for (char& c : line) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (!line.starts_with(kCohortSize)) return size;
  std::string& value = static_cast<Transfer*>(context)->answer.cohort_size;
  value.clear();
  for (const char c : std::string_view(line).substr(kCohortSize.size())) {
    if (c >= '0' && c <= '9' && value.size() < kCohortSizeBytesMax) value += c;
  }
  return size;
}

template <typename T>
bool set(CURL* easy, CURLoption option, T value) {
  return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

// All or none: an option that this libcurl does not know is a transfer that does not begin.
bool set_options(CURL* easy, const PeerCredentials& own, Transfer& transfer) {
  curl_slist* list = curl_slist_append(nullptr, "Content-Type: application/vnd.coterie.frame");
  for (const auto& [name, value] : transfer.request.headers)
    list = curl_slist_append(list, (name + ": " + value).c_str());
  // No "Expect: 100-continue": libcurl would wait a second for an answer to it before it sends a large body.
  list = curl_slist_append(list, "Expect:");
  transfer.headers.reset(list);
  const char* const body = reinterpret_cast<const char*>(transfer.request.body.data());
  // No redirect, no proxy of the environment, and no authority but the fleet's own (CAPATH is the system's). The name
  // in the certificate is not asked for, as that authority certifies the fleet's nodes and nobody else; the address is
  // one that the board gave.
  return set(easy, CURLOPT_URL, transfer.request.url.c_str()) && set(easy, CURLOPT_PROTOCOLS_STR, "https") &&
         set(easy, CURLOPT_FOLLOWLOCATION, 0L) && set(easy, CURLOPT_PROXY, "") && set(easy, CURLOPT_NOSIGNAL, 1L) &&
         set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_3)) &&
         set(easy, CURLOPT_SSLCERT, own.certificate_file.c_str()) && set(easy, CURLOPT_SSLKEY, own.key_file.c_str()) &&
         set(easy, CURLOPT_CAINFO, own.ca_file.c_str()) && set(easy, CURLOPT_CAPATH, static_cast<char*>(nullptr)) &&
         set(easy, CURLOPT_SSL_VERIFYPEER, 1L) && set(easy, CURLOPT_SSL_VERIFYHOST, 0L) &&
         set(easy, CURLOPT_POST, 1L) && set(easy, CURLOPT_POSTFIELDS, body == nullptr ? "" : body) &&
         set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer.request.body.size())) &&
         set(easy, CURLOPT_HTTPHEADER, transfer.headers.get()) && set(easy, CURLOPT_ERRORBUFFER, transfer.why) &&
         set(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs) &&
         set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(transfer.request.timeout.count())) &&
         set(easy, CURLOPT_WRITEFUNCTION, take_body) && set(easy, CURLOPT_WRITEDATA, static_cast<void*>(&transfer)) &&
         set(easy, CURLOPT_HEADERFUNCTION, take_header) && set(easy, CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
}

Error stopped() { return Error(ErrorCode::cancelled, "this server stops"); }

}  // namespace

struct PeerClient::Parts {
  PeerCredentials credentials;
  CURLM* multi = nullptr;
  std::mutex mutex;
  std::deque<std::unique_ptr<Transfer>> waiting;
  size_t out = 0;  // those that wait, and those on their way
  std::atomic<bool> stopping{false};
  std::map<CURL*, std::unique_ptr<Transfer>> running;  // the thread's
  std::thread thread;

  void run();
  void begin_waiting();
  void end(CURL* easy, CURLcode code);
  void finish(Transfer& transfer, Result<PeerAnswer> answer);
};

PeerClient::PeerClient(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
PeerClient::~PeerClient() {
  stop();
  curl_multi_cleanup(parts_->multi);
}

Result<std::unique_ptr<PeerClient>> PeerClient::start(PeerCredentials credentials) {
  // Not thread-safe in itself, and to be called once a process: a static is both.
  static const bool is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  auto parts = std::make_unique<Parts>();
  parts->credentials = std::move(credentials);
  parts->multi = is_ready ? curl_multi_init() : nullptr;
  if (parts->multi == nullptr) return Error(ErrorCode::internal, "libcurl could not be set up");
  parts->thread = std::thread([raw = parts.get()] { raw->run(); });
  return std::unique_ptr<PeerClient>(new PeerClient(std::move(parts)));
}

void PeerClient::send(PeerRequest request, std::function<void(Result<PeerAnswer>)> done) {
  {
    const std::lock_guard lock(parts_->mutex);
    if (!parts_->stopping && parts_->out < kRequestsMax) {
      auto transfer = std::make_unique<Transfer>();
      transfer->request = std::move(request);
      transfer->done = std::move(done);
      parts_->waiting.push_back(std::move(transfer));
      ++parts_->out;
    }
  }
  // `done` was not moved from: the request was not taken. It is told outside of the lock, as it may send again.
  if (done) {
    return done(parts_->stopping ? stopped()
                                 : Error(ErrorCode::overloaded, "too many requests to other servers are on their way"));
  }
  curl_multi_wakeup(parts_->multi);
}

void PeerClient::stop() {
  if (!parts_->thread.joinable()) return;
  parts_->stopping = true;
  curl_multi_wakeup(parts_->multi);
  parts_->thread.join();
}

void PeerClient::Parts::run() {
  while (!stopping) {
    begin_waiting();
    int active = 0;
    curl_multi_perform(multi, &active);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg == CURLMSG_DONE) end(message->easy_handle, message->data.result);
    }
    curl_multi_poll(multi, nullptr, 0, kPollMs, nullptr);
  }
  // Each `done` is called exactly once, also at the end: coroutines wait for it.
  while (!running.empty()) end(running.begin()->first, CURLE_ABORTED_BY_CALLBACK);
  const std::lock_guard lock(mutex);
  for (const auto& transfer : waiting) transfer->done(stopped());
  waiting.clear();
}

void PeerClient::Parts::begin_waiting() {
  std::deque<std::unique_ptr<Transfer>> fresh;
  {
    const std::lock_guard lock(mutex);
    fresh.swap(waiting);
  }
  for (std::unique_ptr<Transfer>& transfer : fresh) {
    CURL* const easy = curl_easy_init();
    if (easy == nullptr || !set_options(easy, credentials, *transfer) ||
        curl_multi_add_handle(multi, easy) != CURLM_OK) {
      if (easy != nullptr) curl_easy_cleanup(easy);
      finish(*transfer, Error(ErrorCode::internal, "libcurl could not be set up for " + transfer->request.url));
      continue;
    }
    running.emplace(easy, std::move(transfer));
  }
}

void PeerClient::Parts::end(CURL* easy, CURLcode code) {
  const auto found = running.find(easy);
  COT_ASSERT(found != running.end());
  const std::unique_ptr<Transfer> transfer = std::move(found->second);
  running.erase(found);
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_multi_remove_handle(multi, easy);
  curl_easy_cleanup(easy);
  if (stopping) return finish(*transfer, stopped());
  if (code != CURLE_OK) {
    const std::string words = transfer->why[0] != '\0' ? transfer->why : curl_easy_strerror(code);
    return finish(*transfer, Error(code == CURLE_OPERATION_TIMEDOUT ? ErrorCode::timed_out : ErrorCode::unavailable,
                                   transfer->request.url + ": " + words));
  }
  transfer->answer.status = static_cast<int>(status);
  finish(*transfer, std::move(transfer->answer));
}

void PeerClient::Parts::finish(Transfer& transfer, Result<PeerAnswer> answer) {
  {
    const std::lock_guard lock(mutex);
    --out;
  }
  transfer.done(std::move(answer));
}

}  // namespace coterie
