#include "vertical/coordinator/leakage_row.h"

#include <algorithm>

namespace coterie::vertical {
namespace {

constexpr LeakageRow kRows[] = {
    {"L1", "matching", "which of its ids the other has; how many ids the other has, by bucket",
     "which of its ids the other has; how many ids the other has, by bucket"},
    {"L2", "matching", "which of its ids all others have; how many ids each other party has, by bucket",
     "which of its ids all others have; how many ids each other party has, by bucket",
     "compares blinded ids: how many any of the parties share, by bucket"},
    {"L3", "training",
     "for each node the sums (G, H) left of each cut of the other, without names or order; who goes left at the "
     "other's splits",
     "which rows share a node; which of its cuts won"},
    {"L4", "prediction", "which leaves the other's splits leave open", "which people are scored"},
    {"L6", "training",
     "how many columns the other has; the weights of its own columns; for each step how many rows are near the edge of "
     "the sigmoid's range",
     "how many columns the other has; the weights of its own columns",
     "deals random numbers: how many people, columns and steps; together with one party it could read the other's "
     "columns and labels"},
    {"L7", "training",
     "how many columns the other has; in each step what they add to each person's margin, from which their inner "
     "products follow",
     "how many columns the other has; in each step the exact gradient of the weights of its own columns, in which "
     "labels "
     "are mixed but not masked"},
    {"L8", "training", "numbers of each person and epoch at the cut, from which columns may be guessed",
     "the slope of the loss at the cut for each person, which says its label"},
    {"L9", "training", "numbers of each person and epoch at the cut, with noise if the manifest asks for it",
     "the slope of the loss at the cut for each person, with noise or of turned labels if the manifest asks for it"},
    {"L10", "prediction", "what the other's columns add to each score", "which people are scored"},
    {"L11", "training",
     "how many columns the other has; the mean products of the other's columns with each other, with its own and with "
     "the label; all weights",
     "how many columns the other has; the weights of its own columns",
     "deals random numbers: how many people and columns; together with one party it could read the other's columns and "
     "labels"},
    {"L12", "prediction", "the numbers at the cut, with noise if the model was trained so", "which people are scored"},
    {"L13", "training", "nothing more",
     "which people each round looks at: those with the largest gradients are among them, and so mostly those who have "
     "a "
     "rare label"},
};

}  // namespace

std::span<const LeakageRow> all_leakage_rows() { return kRows; }

const LeakageRow* leakage_row(std::string_view id) {
  const auto found = std::ranges::find(kRows, id, &LeakageRow::id);
  return found == std::end(kRows) ? nullptr : &*found;
}

}  // namespace coterie::vertical
