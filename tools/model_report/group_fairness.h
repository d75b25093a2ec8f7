// Fairness by group: how a model answers examples of one group and of another, and how far that is apart.
//
// A classifier has a positive class, such as "gets the loan". With A the group, Y the label, R the answer:
//
//   accuracy          P(R = Y | A)
//   selection         P(R positive | A)
//   true positives    P(R positive | Y positive, A)
//   false positives   P(R positive | Y otherwise, A)
//   error             the mean of -log p(Y) over the group; of a model of numbers, of |R - Y|
//
// A gap is the largest of the groups' figures less the smallest (gap_rows() has the names):
//
//   accuracy                of accuracy; the group with the least is the worst (Sagawa et al. 2020)
//   error                   of error; of numbers the group with the largest is the worst
//   demographic_parity      of selection: statistical parity (Dwork et al. 2012)
//   equal_opportunity       of true positives (Hardt, Price and Srebro 2016, definition 2.2)
//   equalised_odds          the larger of the gaps of true and of false positives (ibid., definition 2.1, where both
//                           are to be 0)
//
// The selection ratio is the smallest selection by the largest; "four fifths" is .8 (29 CFR 1607.4 D). A figure of no
// examples (true positives where none is labelled so) is none, and its group is left out of that gap.
//
// Groups of a fair model differ by chance, too: the same gap is looked at where the groups are shuffled among the
// examples (Fisher's permutation test). `p` is the share of shuffles, the true one among them, whose gap is as large.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/compare/statistics.h"
#include "tools/model_report/example_groups.h"

namespace coterie {

inline constexpr uint32_t kGroupShuffles = 199;  // so that p is .005 at least

enum class GapKind : uint8_t { accuracy, error, demographic_parity, equal_opportunity, equalised_odds };
inline constexpr size_t kGapKinds = 5;

struct GapRow {
  GapKind kind;
  std::string_view name;    // of JSON
  std::string_view title;   // of the page and the terminal
  std::string_view source;  // what it is, and who said so
};
std::span<const GapRow, kGapKinds> gap_rows();

struct Gap {
  double value = 0;
  double chance = 0;  // its mean over the shuffles
  double p = 1;
};

struct GroupScore {
  std::string name;
  bool is_rest = false;  // of folded groups: in no gap
  uint64_t examples = 0;
  SeenShare correct, selection, true_positives, false_positives;  // of nothing where they mean nothing
  MeanInterval error;                                             // NaN where an error is not finite
};

struct GroupFairness {
  std::string column;
  size_t folded = 0;                 // groups that the rest has
  std::optional<uint32_t> positive;  // the class
  bool is_of_numbers = false;
  std::vector<GroupScore> groups;                  // of one example at least
  std::array<std::optional<Gap>, kGapKinds> gaps;  // by GapKind; none: fewer than two groups have the figure
  std::optional<double> selection_ratio;           // none where nobody is selected, too
  std::optional<size_t> worst;                     // its place in `groups`

  const std::optional<Gap>& gap(GapKind kind) const { return gaps[static_cast<size_t>(kind)]; }
};

// Pure: shown an answer after the other, in the order of the examples that the groups are of; no more than these.
class GroupAnswers {
 public:
  // `positive`: none: what needs a positive class is left out.
  explicit GroupAnswers(ExampleGroups groups, std::optional<uint32_t> positive = std::nullopt);

  // An answer of a classifier: `said` is none where it gave no answer, which is wrong, and positive for no class.
  void add(std::optional<uint32_t> said, uint32_t label, double error);
  // One of a model of numbers.
  void add(double error);

  size_t examples() const { return groups_.of.size(); }
  // Precondition: every example was shown. `seed` is of the shuffles.
  GroupFairness judged(uint64_t seed) const;

 private:
  struct Answer {
    bool is_correct = false, is_selected = false, is_positive = false;
    double error = 0;
  };
  struct Tally;
  using Figures = std::array<std::optional<double>, kGapKinds>;

  std::vector<Tally> tallies(std::span<const uint32_t> group_of) const;
  Figures gaps(std::span<const Tally> tallies) const;
  void add_chance(uint64_t seed, GroupFairness& fairness) const;

  ExampleGroups groups_;
  std::optional<uint32_t> positive_;
  bool is_of_numbers_ = false;
  std::vector<Answer> answers_;
};

}  // namespace coterie
