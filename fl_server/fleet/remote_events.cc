#include "fl_server/fleet/remote_events.h"

#include <utility>

#include "base/log.h"

namespace coterie {
namespace {

constexpr Millis kHold{5'000};    // a server that is about to leave has this long to wait for answers
constexpr Millis kMargin{5'000};  // beyond what an answer is held
constexpr int kNothingNew = 204;

// What follows the last `name` at the beginning of a line, up to that line's end; empty if there is none.
std::string last_line(const std::string& text, const std::string& name) {
  const size_t inside = text.rfind("\n" + name);
  if (inside == std::string::npos && !text.starts_with(name)) return {};
  const size_t begin = (inside == std::string::npos ? 0 : inside + 1) + name.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

RemoteEvents::RemoteEvents(PeerClient& client, std::string owner_url, Reader reader)
    : client_(client), owner_url_(std::move(owner_url)), reader_(std::move(reader)) {}

RemoteEvents::~RemoteEvents() {
  const std::lock_guard lock(mailbox_->mutex);
  mailbox_->wake = nullptr;
}

void RemoteEvents::when_ready(std::function<void()> wake) {
  const std::lock_guard lock(mailbox_->mutex);
  mailbox_->wake = std::move(wake);
}

std::optional<std::string> RemoteEvents::next() {
  if (is_over_) return std::nullopt;
  std::optional<Result<PeerAnswer>> answer;
  {
    const std::lock_guard lock(mailbox_->mutex);
    answer = std::exchange(mailbox_->answer, std::nullopt);
  }
  std::string text;
  if (answer) {
    is_out_ = false;
    if (!*answer || ((*answer)->status != 200 && (*answer)->status != kNothingNew)) {
      // Whoever leads has gone, or leads no more. Who leads now is for the client's next request to find.
      log(LogLevel::debug, "events_not_relayed", {{"job", reader_.job.value()}});
      is_over_ = true;
      return std::nullopt;
    }
    text = std::string(as_text((*answer)->body));
    remember(text);
  }
  if (!is_over_ && !is_out_) ask();
  return text;
}

// Where this reader stands now: the next question says it, as the one that leads keeps nothing of readers.
void RemoteEvents::remember(const std::string& text) {
  if (text.empty()) return;
  reader_.read = last_line(text, "id: ");
  if (const std::string round = last_line(text, "event: round\ndata: "); !round.empty()) told_ = round;
  is_over_ = text.find("event: over\n") != std::string::npos;
  reader_.is_known = true;
}

void RemoteEvents::ask() {
  is_out_ = true;
  PeerRequest request{.url = owner_url_ + "/peer/v1/events",
                      .headers = {{"Coterie-Job", reader_.job.value()},
                                  {"Coterie-Population", reader_.population.value()},
                                  {"Coterie-Job-Known", reader_.is_known ? "1" : "0"},
                                  {"Coterie-Hold-Ms", std::to_string(kHold.count())}},
                      .body = Bytes(told_.begin(), told_.end()),
                      .timeout = kHold + kMargin};
  if (!reader_.read.empty()) request.headers.emplace_back("Last-Event-ID", reader_.read);
  client_.send(std::move(request), [mailbox = mailbox_](Result<PeerAnswer> answer) {
    const std::lock_guard lock(mailbox->mutex);
    mailbox->answer = std::move(answer);
    if (mailbox->wake) mailbox->wake();
  });
}

}  // namespace coterie
