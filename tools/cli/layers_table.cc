#include "tools/cli/layers_table.h"

#include "tools/cli/table.h"

namespace coterie {

std::string layers_table(const ModelReport& report) {
  constexpr int kLineColumns = 80;
  Table table({{"LAYER"}, {"OP"}, {"OUTPUT"}, {"PARAMETERS", Table::Align::right}});
  for (const ModelLayer& layer : report.layers) {
    table.add({layer.name, layer.op, layer.output, layer.parameters == 0 ? "" : format_count(layer.parameters)});
  }
  return table.text_within(kLineColumns);
}

}  // namespace coterie
