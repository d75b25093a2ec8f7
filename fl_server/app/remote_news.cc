#include "fl_server/app/remote_news.h"

#include <optional>
#include <string>

#include "fl_server/app/model_news.h"

namespace coterie {

bool RemoteNews::has_news(std::string_view piece) {
  constexpr std::string_view kName = "event: ";
  while (!piece.empty()) {
    const size_t end = piece.find('\n');
    const std::string_view line = piece.substr(0, end);
    piece.remove_prefix(end == std::string_view::npos ? piece.size() : end + 1);
    if (!line.starts_with(kName)) continue;
    const std::string_view kind = line.substr(kName.size());
    if (kind == "begin" || kind == "events_missed" || ModelNews::is_of_models(kind)) return true;
  }
  return false;
}

bool RemoteNews::begin() {
  if (source_) return false;
  Result<std::shared_ptr<EventSource>> opened = open_();
  if (!opened) return false;
  source_ = *std::move(opened);
  source_->when_ready([&news = news_] { news.mail_came(); });
  news_.mail_came();  // to ask its first question
  return true;
}

bool RemoteNews::read() {
  bool is_news = false;
  while (source_) {
    const std::optional<std::string> piece = source_->next();
    if (!piece) {
      source_.reset();
      break;
    }
    if (piece->empty() && !source_->has_more()) break;
    is_news = has_news(*piece) || is_news;
  }
  return is_news;
}

}  // namespace coterie
