#include "tools/data/labelled_images.h"

#include "base/assert.h"

namespace coterie {

void append(LabelledImages& images, const LabelledImages& more) {
  COT_ASSERT(images.shape == more.shape && images.classes == more.classes && images.white == more.white);
  images.pixels.insert(images.pixels.end(), more.pixels.begin(), more.pixels.end());
  images.labels.insert(images.labels.end(), more.labels.begin(), more.labels.end());
}

ExampleTable to_table(LabelledImages images) {
  ExampleTable table{labelled_dataset(std::move(images.name), images.size(), std::move(images.shape), images.classes),
                     {}};
  table.header.inputs[0].type = ColumnType::uint8;
  table.header.inputs[0].scale = 1.0f / static_cast<float>(images.white);
  table.columns.push_back(std::move(images.pixels));
  table.columns.push_back(column_of(images.labels));
  return table;
}

}  // namespace coterie
