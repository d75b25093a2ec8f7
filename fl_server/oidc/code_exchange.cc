#include "fl_server/oidc/code_exchange.h"

#include <utility>

#include "base/text/percent.h"
#include "fl_server/oidc/code_flow.h"
#include "fl_server/oidc/https_question.h"

namespace coterie {
namespace {

// Counts itself as long as it is there.
class Place {
 public:
  explicit Place(std::atomic<uint32_t>& taken) : taken_(taken), before_(taken++) {}
  ~Place() { --taken_; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  bool is_within(uint32_t most) const { return before_ < most; }

 private:
  std::atomic<uint32_t>& taken_;
  const uint32_t before_;
};

}  // namespace

CodeExchange::CodeExchange(CodeFlowSettings settings, std::string ca_file, std::string secret)
    : settings_(std::move(settings)), ca_file_(std::move(ca_file)), secret_(std::move(secret)) {}

Result<std::string> CodeExchange::id_token(std::string_view code, std::string_view verifier) {
  const Place place(under_way_);
  if (!place.is_within(kAtOnceMax)) {
    return Error(ErrorCode::overloaded, "sign-in: too many ask the provider at a time; try again",
                 sign_in_fault::kBusy);
  }
  HttpsForm form{.body = token_request(settings_, code, verifier, !secret_.empty()), .name = {}, .password = {}};
  if (!secret_.empty()) {  // both encoded before they are joined: RFC 6749 section 2.3.1
    form.name = percent_encoded(settings_.client_id);
    form.password = percent_encoded(secret_);
  }
  const Result<HttpsAnswer> answer = ask_https({.url = settings_.token_url,
                                                .ca_file = ca_file_,
                                                .body_bytes_max = kTokenAnswerBytesMax,
                                                .connect_max = kConnectMax,
                                                .total_max = kTotalMax},
                                               &form, cancelled_);
  if (answer) return id_token_of(answer->status, answer->body);
  const bool is_too_large = answer.error().code() == ErrorCode::too_large;
  return Error(is_too_large ? ErrorCode::unauthenticated : ErrorCode::unavailable,
               "sign-in: " + answer.error().message(), is_too_large ? sign_in_fault::kProvider : sign_in_fault::kAway);
}

}  // namespace coterie
