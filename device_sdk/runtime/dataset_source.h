// DatasetSource: the examples of a data set file (a frame of kind `dataset`).
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/os/mapped_file.h"
#include "device_sdk/runtime/example_source.h"
#include "proto/messages/dataset.h"

namespace coterie {

class DatasetSource final : public ExampleSource {
 public:
  // Maps the file: it may be larger than the memory, but nobody may shorten it in place meanwhile (os::MappedFile says
  // more). All of it is read now, for its seal and its labels. Errors name the file: data_loss (it fails its seal),
  // malformed and too_large as decode_dataset says, and what the system says.
  static Result<DatasetSource> open(const std::string& path);
  // Takes a whole data set file as bytes.
  static Result<DatasetSource> load(Bytes file);
  // A whole data set file that lies in memory as long as `keeper` is held, and whose bytes the caller has checked: no
  // seal is read. malformed and too_large as decode_dataset says.
  static Result<DatasetSource> over(ByteView file, std::shared_ptr<const void> keeper);

  const DatasetHeader& header() const { return header_; }
  uint64_t size() const override { return header_.examples; }
  std::optional<Digest> digest() const override;  // content_digest of the file
  const Shape* first_input_shape() const override { return &header_.inputs.front().shape; }
  // uint8 columns are converted to float32. invalid_argument if the model has another number of inputs, or an input or
  // a target of another size.
  Status read(uint64_t index, const Example& to) override;
  // The same for a caller that has no Example, of a data set with one input and one label an example.
  Status read(uint64_t index, std::span<float> features, int32_t& label);

 private:
  struct Column {
    ByteView bytes;
    size_t row_bytes;  // of one example
    size_t elements;   // likewise
  };
  struct Storage {  // one of the three has the file; a view of any stays good when it is moved
    Bytes loaded = {};
    os::MappedFile mapped = {};
    std::shared_ptr<const void> keeper = {};
  };
  DatasetSource(Storage storage, ByteView file, DatasetHeader header, ByteView payload);
  Status read_column(const Column& column, const DatasetColumn& info, uint64_t index, std::span<float> to) const;

  Storage storage_;
  ByteView file_;
  DatasetHeader header_;
  std::vector<Column> inputs_;
  Column target_;
  mutable std::optional<Digest> digest_;  // once it was asked for
};

// A data set file of these columns: the inputs' in the header's order, then the target's, each as the payload has it
// (proto/messages/dataset.h).
Bytes encode_dataset(const DatasetHeader& header, std::span<const ByteView> columns);
// With one float32 input and one label an example (labelled_dataset).
Bytes encode_dataset(const DatasetHeader& header, std::span<const float> features, std::span<const int32_t> labels);

}  // namespace coterie
