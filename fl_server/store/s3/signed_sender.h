// Requests to one bucket: signed, sent, and sent again where that can help. Blocks; any thread.
//
// Tried again, with a pause between (backoff.h): connections that fail or break, answers that come too late,
// 429, 5xx but 501, and S3's codes for the same (answers.h). After at most S3Settings::tries_max tries or
// operation_max the last error stands. A store whose clock differs is taken at its word once: later requests
// are signed for its time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "base/random.h"
#include "fl_server/settings/s3_settings.h"
#include "fl_server/store/s3/credentials.h"
#include "fl_server/store/s3/https_pool.h"
#include "fl_server/store/s3/sigv4.h"

namespace coterie::s3 {

inline constexpr size_t kErrorBodyBytesMax = 64 << 10;  // room for an error where a short answer was expected
inline constexpr Millis kClockSkewMax{60'000};          // S3 takes 15 minutes; beyond this we follow its clock

struct BucketRequest {
  std::string method;
  std::string key;  // with the prefix; empty: the bucket itself
  Fields query;
  Fields headers;  // names in lower case
  ByteView body;
  size_t answer_bytes_max = 0;
};

class SignedSender {
 public:
  // `settings` are valid.
  SignedSender(S3Settings settings, Credentials credentials, std::function<WallTime()> wall_now);

  // An answer with a status of 200 to 299, or the typed error of the last try.
  // `is_good` may find fault with such an answer, and have it tried again.
  using Judge = std::function<Status(const HttpsReply&)>;
  Result<HttpsReply> send(const BucketRequest& request, const Judge& is_good = {});

  // A URL that is good for a GET of the object for `seconds`, for whoever has it.
  std::string presigned_get(const std::string& key, int64_t seconds) const;

  // Ends what is under way, and all that follows, with `cancelled`.
  void cancel();

  const S3Settings& settings() const { return settings_; }

 private:
  struct Attempt;
  std::string path_of(const std::string& key) const;
  WallTime store_now() const;
  Attempt try_once(const BucketRequest& request, const Judge& is_good, const std::string& what, Millis transfer_max);
  bool follow_clock(const HttpsReply& reply);
  Status wait(Millis pause);

  const S3Settings settings_;
  const Credentials credentials_;
  const std::function<WallTime()> wall_now_;
  std::string host_;
  HttpsPool pool_;
  std::atomic<int64_t> ahead_ms_ = 0;  // the store's clock, of ours
  std::mutex mutex_;
  std::condition_variable cancelled_;
  Prng prng_;
};

}  // namespace coterie::s3
