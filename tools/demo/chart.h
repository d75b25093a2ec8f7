// The chart of a demo as an SVG file: accuracy (of numbers R2) and loss over the rounds; which device had what. Pure.
//
// Readable on its white paper wherever it is shown, without colour vision (one colour a picture, dashes,
// words at the lines' ends), and at the width of a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coterie {

struct ChartRound {
  uint64_t number = 0;             // 0: before training
  std::optional<double> accuracy;  // of the held-out examples; of numbers their R2
  std::optional<double> held_out_loss;
  std::optional<double> training_loss;  // as the devices met it
};

struct ChartData {
  std::string title;  // "cnn on digits: 20 devices"
  std::string subtitle;
  std::vector<ChartRound> rounds;                   // in order
  std::vector<std::vector<uint32_t>> label_counts;  // for each device, how many examples of each label
  std::vector<uint32_t> rounds_trained;             // for each device; may be empty
  std::vector<std::string> class_names = {};        // of each label; empty: its number
  bool is_of_numbers = false;                       // targets are no labels: one count of all examples a device
  std::string loss_name = "cross entropy";
};

std::string draw_chart(const ChartData& data);
// The same as a page with the values of the round that is pointed at (chart_page.h).
std::string draw_chart_page(const ChartData& data);
// Who has what alone, before there is any round.
std::string draw_holdings(const ChartData& data);

}  // namespace coterie
