#include "tools/cli/training_progress.h"

#include <algorithm>
#include <cmath>

#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr int kBarColumns = 20;
constexpr Millis kLiveInterval(100);      // nobody reads faster
constexpr Millis kPlainInterval(10'000);  // a log of a long epoch shows that it lives

std::string padded(const std::string& text, size_t columns) {
  return std::string(columns - std::min(columns, text.size()), ' ') + text;
}

std::string whole_seconds(double seconds) {
  return seconds < 60 ? format_fixed(std::ceil(seconds), 0) + " s" : format_seconds(std::max(100.0, seconds));
}

// One that runs away has thirty digits in front of its point.
std::string loss_text(double loss) {
  constexpr double kFixedMax = 1e6;
  return std::fabs(loss) < kFixedMax ? format_fixed(loss, 4) : format_digits(loss);
}

double seconds_between(Instant from, Instant to) { return std::chrono::duration<double>(to - from).count(); }

}  // namespace

std::string training_line(const TrainingMoment& moment, const Terminal& terminal) {
  const std::string epochs = std::to_string(moment.epochs);
  std::string line = "epoch " + padded(std::to_string(moment.epoch), epochs.size()) + "/" + epochs;
  const double done = static_cast<double>(moment.steps) / static_cast<double>(moment.steps_in_all);
  if (terminal.is_live) line += "  " + bar(done, kBarColumns, terminal);
  line += "  step " + padded(std::to_string(moment.steps), std::to_string(moment.steps_in_all).size());
  line += "  loss " + padded(loss_text(moment.loss), 7);
  if (!std::isnan(moment.accuracy)) line += "  accuracy " + terminal.bold(padded(format_percent(moment.accuracy), 7));
  line += "  " + format_count(static_cast<uint64_t>(moment.examples_per_second)) + " samples/s";
  if (moment.seconds_left >= 1) line += terminal.dim("  about " + whole_seconds(moment.seconds_left) + " left");
  return line;
}

std::string validation_line(double loss, const ValidationSummary& validation) {
  const std::string line = "validation loss " + loss_text(loss);
  if (validation.best_step == 0) return line;
  if (validation.best_step == validation.last_step) return line + ", the lowest so far";
  return line + ", the lowest was " + loss_text(validation.best_loss) + " after step " +
         format_count(validation.best_step);
}

TrainingProgress::TrainingProgress(const Trainer& trainer, uint64_t epoch, uint64_t epochs, bool is_classified,
                                   bool is_quiet, Instant now)
    : trainer_(trainer),
      is_classified_(is_classified),
      line_(stderr, is_quiet),
      begin_(now),
      shown_(now),
      first_(trainer.summary()),
      epoch_start_(trainer.epoch_start()) {
  moment_.epoch = std::min(epoch, epochs);
  moment_.epochs = epochs;
  moment_.steps = first_.steps;
  moment_.steps_in_all = std::max<uint64_t>(1, trainer.steps_in_all());
}

void TrainingProgress::measure(Instant now) {
  const TrainingSummary summary = trainer_.summary();
  const double examples = static_cast<double>(summary.examples - epoch_start_.examples);
  const double rows = static_cast<double>(summary.rows - epoch_start_.rows);
  const double seconds = std::max(1e-3, seconds_between(begin_, now));
  moment_.steps = summary.steps;
  moment_.loss = (summary.loss_sum - epoch_start_.loss_sum) / examples;
  moment_.accuracy =
      is_classified_ && rows > 0 ? static_cast<double>(summary.correct - epoch_start_.correct) / rows : NAN;
  moment_.examples_per_second = static_cast<double>(summary.examples - first_.examples) / seconds;
  const double seconds_a_step = seconds / static_cast<double>(summary.steps - first_.steps);
  moment_.seconds_left = seconds_a_step * static_cast<double>(moment_.steps_in_all - summary.steps);
}

void TrainingProgress::after_step(bool ends_epoch, Instant now) {
  const bool is_live = line_.terminal().is_live;
  if (!ends_epoch && now - shown_ < (is_live ? kLiveInterval : kPlainInterval)) return;
  measure(now);
  const std::string line = training_line(moment_, line_.terminal());
  if (ends_epoch || !is_live) line_.print(line);
  else line_.show(line);
  shown_ = now;
  if (!ends_epoch) return;
  epoch_start_ = trainer_.summary();
  moment_.epoch = std::min(moment_.epoch + 1, moment_.epochs);
}

}  // namespace coterie
