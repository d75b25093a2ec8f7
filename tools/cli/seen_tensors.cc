#include "tools/cli/seen_tensors.h"

#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr int kNameColumns = 24, kShapeColumns = 15;  // a line of the table has at most 80

}  // namespace

std::string seen_table(const std::vector<SeenTensor>& tensors) {
  Table table({{"", Table::Align::left},
               {"TENSOR", Table::Align::left},
               {"SHAPE", Table::Align::left},
               {"MIN", Table::Align::right},
               {"MAX", Table::Align::right},
               {"NAN", Table::Align::right},
               {"INF", Table::Align::right}});
  for (const SeenTensor& tensor : tensors) {
    const TensorStatistics& of = tensor.statistics;
    const bool has_any = of.finite() > 0;
    table.add({tensor.is_made ? "made" : "read", shortened(tensor.what, kNameColumns),
               shortened(tensor.shape, kShapeColumns), has_any ? format_digits(of.min) : "",
               has_any ? format_digits(of.max) : "", format_count(of.nan),
               format_count(of.positive_infinite + of.negative_infinite)});
  }
  return table.text();
}

}  // namespace coterie
