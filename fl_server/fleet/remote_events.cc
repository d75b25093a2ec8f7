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

RemoteEvents::RemoteEvents(PeerClient& client, std::string owner_url, EventReader reader)
    : client_(client), owner_url_(std::move(owner_url)), reader_(std::move(reader)) {}

RemoteEvents::~RemoteEvents() {
  // The answer may come later, on another thread. It finds the mailbox, which outlives this reader, and wakes nobody.
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
      return end();
    }
    text = std::string(as_text((*answer)->body));
    if (!remember(text)) return end();
  }
  if (!is_over_ && !is_out_) ask();
  return text;
}

std::nullopt_t RemoteEvents::end() {
  const auto* job = std::get_if<OfJob>(&reader_.of);
  log(LogLevel::debug, "events_not_relayed", {{"job", job != nullptr ? job->job.value() : std::string()}});
  is_over_ = true;
  return std::nullopt;
}

// Where this reader stands now: the next question says it, as the one that leads keeps nothing of readers.
Status RemoteEvents::remember(const std::string& text) {
  if (text.empty()) return {};
  COT_ASSIGN(EventId read, EventId::parse(last_line(text, "id: ")));
  reader_.read = std::move(read);
  if (auto* job = std::get_if<OfJob>(&reader_.of)) {
    if (std::string round = last_line(text, "event: round\ndata: "); !round.empty()) reader_.told = std::move(round);
    is_over_ = text.find("event: over\n") != std::string::npos;
    job->is_known = true;
  }
  return {};
}

void RemoteEvents::ask() {
  is_out_ = true;
  PeerRequest request{.url = owner_url_ + "/peer/v1/events",
                      .headers = {{"Coterie-Hold-Ms", std::to_string(kHold.count())}},
                      .body = Bytes(reader_.told.begin(), reader_.told.end()),
                      .timeout = kHold + kMargin};
  if (const auto* job = std::get_if<OfJob>(&reader_.of)) {
    request.headers.emplace_back("Coterie-Job", job->job.value());
    request.headers.emplace_back("Coterie-Population", job->population.value());
    request.headers.emplace_back("Coterie-Job-Known", job->is_known ? "1" : "0");
  } else {
    request.headers.emplace_back("Coterie-Tenant", std::get<OfTenant>(reader_.of).tenant);
  }
  if (reader_.read) request.headers.emplace_back("Last-Event-ID", reader_.read->text());
  client_.send(std::move(request), [mailbox = mailbox_](Result<PeerAnswer> answer) {
    const std::lock_guard lock(mailbox->mutex);
    mailbox->answer = std::move(answer);
    if (mailbox->wake) mailbox->wake();
  });
}

}  // namespace coterie
