#include "tools/demo/progress.h"

#include <algorithm>
#include <cmath>

#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr int kBarColumns = 20;

// "  7/40": as wide for every round.
std::string numbered(uint64_t number, uint64_t of) {
  const std::string total = std::to_string(of), text = std::to_string(number);
  return std::string(total.size() - std::min(total.size(), text.size()), ' ') + text + "/" + total;
}

std::string whole_seconds(double seconds) {
  return seconds < 60 ? format_fixed(std::ceil(seconds), 0) + " s" : format_seconds(std::max(100.0, seconds));
}

std::string padded_left(const std::string& text, size_t columns) {
  return std::string(columns - std::min(columns, text.size()), ' ') + text;
}

}  // namespace

std::string bar(double ratio, int columns, const Terminal& terminal) {
  const double clamped = std::isfinite(ratio) ? std::clamp(ratio, 0.0, 1.0) : 0.0;
  const int halves = static_cast<int>(std::lround(clamped * columns * 2));
  std::string filled, rest;
  for (int i = 0; i < columns; ++i) {
    const int here = halves - 2 * i;
    if (here >= 2) filled += terminal.has_unicode ? "━" : "#";
    else if (here == 1) filled += terminal.has_unicode ? "╸" : "-";
    else rest += terminal.has_unicode ? "─" : ".";
  }
  return terminal.green(filled) + terminal.dim(rest);
}

std::string epsilon_words(const Spent& spent) {
  if (!spent.budget) return {};
  if (!spent.epsilon) return "  no eps";
  char text[64];
  std::snprintf(text, sizeof text, "  eps %.3g/%g", *spent.epsilon, *spent.budget);
  return text;
}

std::string round_line(const RoundReport& round, uint64_t rounds, const Terminal& terminal, const Spent& spent) {
  std::string line = "round " + numbered(round.number, rounds);
  if (round.state == "failed") {
    return line + "  " +
           terminal.red("attempt " + std::to_string(round.attempt) + " failed: " + printable(round.reason));
  }
  line += "  " + numbered(round.accepted, round.selected) + " devices";
  const bool has_trained = round.examples > 0 || round.evaluation_loss;  // else devices have counted
  double part = round.evaluation_accuracy.value_or(NAN);
  if (has_trained) line += "  loss " + padded_left(format_fixed(round.evaluation_loss.value_or(NAN), 3), 6);
  if (round.evaluation_mae) {
    part = round.evaluation_r2.value_or(NAN);
    line += "  MAE " + padded_left(format_digits(*round.evaluation_mae), 8);
    line += "  R2 " + terminal.bold(padded_left(format_fixed(part, 3), 6));
  } else if (has_trained) {
    line += "  accuracy " + terminal.bold(padded_left(format_percent(part), 7));
  }
  std::string rest = "  " + padded_left(format_seconds(round.seconds), 6);
  if (round.attempt > 1) rest += "  (attempt " + std::to_string(round.attempt) + ")";
  rest += epsilon_words(spent);
  const bool has_room = width_of(line) + 2 + kBarColumns + width_of(rest) <= terminal.columns;
  if (terminal.is_live && has_room && has_trained) line += "  " + bar(part, kBarColumns, terminal);
  return line + rest;
}

std::string live_line(const RoundReport& round, uint64_t rounds, double seconds_left, const Terminal& terminal) {
  const double done = static_cast<double>(round.number - std::min<uint64_t>(1, round.number));
  const double part =
      round.goal_count > 0 ? static_cast<double>(round.accepted) / static_cast<double>(round.goal_count) : 0;
  std::string line = "round " + numbered(round.number, rounds) + "  ";
  line += bar((done + std::min(part, 1.0)) / static_cast<double>(rounds), kBarColumns, terminal);
  line += "  " + numbered(round.accepted, round.goal_count) + " updates";
  if (seconds_left >= 1) line += terminal.dim("  about " + whole_seconds(seconds_left) + " left");
  return line;
}

void ProgressLine::show(const std::string& text) {
  if (quiet_ || !terminal_.is_live) return;
  const std::string line = fit(text, terminal_.columns - 1);
  if (line == shown_) return;
  std::fprintf(stream_, "\r%s\x1b[K", line.c_str());
  std::fflush(stream_);
  shown_ = line;
}

void ProgressLine::clear() {
  if (shown_.empty()) return;
  std::fputs("\r\x1b[K", stream_);
  std::fflush(stream_);
  shown_.clear();
}

void ProgressLine::print(const std::string& text) {
  if (quiet_) return;
  clear();
  std::fprintf(stream_, "%s\n", text.c_str());
  std::fflush(stream_);
}

}  // namespace coterie
