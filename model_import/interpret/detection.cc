// NonMaxSuppression: the boxes of detections that no better one covers.
#include <algorithm>
#include <numeric>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box box_of(const double* numbers, bool is_centred) {
  if (is_centred) {
    const double w = numbers[2] / 2, h = numbers[3] / 2;
    return {numbers[1] - h, numbers[0] - w, numbers[1] + h, numbers[0] + w};
  }
  return {std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]), std::max(numbers[0], numbers[2]),
          std::max(numbers[1], numbers[3])};
}

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const double both = height * width;
  return both / (a.area() + b.area() - both);
}

double number(const Call& call, size_t i, double absent) {
  return call.has(i) && call.operand(i).size() == 1 ? call.operand(i).values[0] : absent;
}

// boxes [batch, n, 4], scores [batch, classes, n], most of a class, overlap and score thresholds: rows of batch, class
// and box, in the order in which they are chosen.
Result<Outputs> compute_suppression(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &boxes = call.operand(0), &scores = call.operand(1);
  if (boxes.rank() != 3 || boxes.shape[2] != 4 || scores.rank() != 3 || scores.shape[0] != boxes.shape[0] ||
      scores.shape[2] != boxes.shape[1]) {
    return bad_form("boxes and scores that do not fit");
  }
  const bool is_centred = call.node.integer("center_point_box", 0) != 0;
  const double most = number(call, 2, 0), covered = number(call, 3, 0);
  const bool has_least = call.has(4);
  const double least = number(call, 4, 0);
  const auto count = static_cast<size_t>(boxes.shape[1]);
  std::vector<double> rows;
  for_each_index({scores.shape[0], scores.shape[1]}, [&](const Index& index, size_t group) {
    const double* score = scores.values.data() + group * count;
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return score[a] > score[b]; });
    std::vector<Box> chosen;
    for (const size_t i : order) {
      if (static_cast<double>(chosen.size()) >= most) break;
      if (has_least && !(score[i] > least)) continue;
      const Box box = box_of(boxes.values.data() + (static_cast<size_t>(index[0]) * count + i) * 4, is_centred);
      if (std::ranges::any_of(chosen, [&](const Box& other) { return overlap(box, other) > covered; })) continue;
      chosen.push_back(box);
      for (const int64_t part : {index[0], index[1], static_cast<int64_t>(i)})
        rows.push_back(static_cast<double>(part));
    }
  });
  COT_ASSIGN(Array y, zeros(Element::integer, {static_cast<int64_t>(rows.size() / 3), 3}));
  y.values = std::move(rows);
  return one(std::move(y));
}

}  // namespace

Operator detection_operator(const std::string& op) { return op == "NonMaxSuppression" ? compute_suppression : nullptr; }

}  // namespace coterie::model_import
