// What a demo says while it runs: one line a round, the present one kept up to date where the terminal can do that.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "tools/admin/round_report.h"
#include "tools/cli/terminal.h"

namespace coterie {

// What a job with noise has spent.
struct Spent {
  std::optional<double> epsilon;  // by now; none: nothing is protected
  std::optional<double> budget;   // none: no noise
};

// "round  7/40  10/10 devices  loss 0.412  accuracy 91.3 %  0.31 s  eps 1.23/8", or in place of the accuracy "MAE 2.75
// R2 0.812"; with a bar of it on a terminal that has room. A failed attempt says why. Pure.
std::string round_line(const RoundReport& round, uint64_t rounds, const Terminal& terminal, const Spent& spent = {});

// What stands behind the line of a round: "  eps 1.23/8", of a budget of 8; empty without one, "  no eps" where nothing
// is protected. Pure.
std::string epsilon_words(const Spent& spent);

// The round under way: "round  8/40  ━━━━━╸────────  3/10 updates  about 12 s left". Pure.
std::string live_line(const RoundReport& round, uint64_t rounds, double seconds_left, const Terminal& terminal);

// `ratio` of `columns` columns filled; half columns where the terminal has Unicode. Pure.
std::string bar(double ratio, int columns, const Terminal& terminal);

// Prints lines; the last may be a temporary one that the next replaces.
class ProgressLine {
 public:
  // Quiet: prints nothing at all.
  ProgressLine(std::FILE* stream, bool quiet) : stream_(stream), terminal_(Terminal::of(stream)), quiet_(quiet) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  const Terminal& terminal() const { return terminal_; }
  // Only on a live terminal; cut to its width.
  void show(const std::string& text);
  void print(const std::string& text);
  void clear();

 private:
  std::FILE* stream_;
  Terminal terminal_;
  bool quiet_;
  std::string shown_;
};

}  // namespace coterie
