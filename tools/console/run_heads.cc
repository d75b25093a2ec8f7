#include "tools/console/run_heads.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "proto/messages/training_head.h"
#include "proto/messages/training_rules.h"

namespace coterie {
namespace {

struct HeadFigure {
  std::string_view prefix;
  std::optional<double> EvaluatedHead::*member;
};
constexpr HeadFigure kHeadFigures[] = {{"evaluation_loss.", &EvaluatedHead::loss},
                                       {"evaluation_accuracy.", &EvaluatedHead::accuracy},
                                       {"evaluation_mae.", &EvaluatedHead::mae}};

std::optional<double> finite_in(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

RunHeads::RunHeads(const std::vector<std::string>& header) {
  for (size_t place = 0; place < header.size(); ++place) {
    const std::string_view name = header[place];
    const auto figure =
        std::ranges::find_if(kHeadFigures, [&](const HeadFigure& of) { return name.starts_with(of.prefix); });
    if (figure == std::ranges::end(kHeadFigures)) continue;
    const std::string_view output = name.substr(figure->prefix.size());
    if (output.empty() || output.size() > kPatternBytesMax) continue;
    const auto known = std::ranges::find(outputs_, output);
    const auto head = static_cast<size_t>(known - outputs_.begin());
    const auto is_same = [&](const Column& of) { return of.head == head && of.figure == figure->member; };
    if (known == outputs_.end() ? outputs_.size() == kHeadsMax : std::ranges::any_of(columns_, is_same)) continue;
    if (known == outputs_.end()) outputs_.emplace_back(output);
    columns_.push_back({.place = place, .head = head, .figure = figure->member});
  }
}

std::vector<EvaluatedHead> RunHeads::in(const std::vector<std::string>& fields) const {
  std::vector<EvaluatedHead> heads(outputs_.size());
  for (size_t i = 0; i < heads.size(); ++i) heads[i].output = outputs_[i];
  for (const Column& column : columns_) heads[column.head].*column.figure = finite_in(fields[column.place]);
  return heads;
}

}  // namespace coterie
