// A file that is given for a model and is none is told as what it is, with the way to a model.
#include "tools/cli/file_kind.h"

#include <gmock/gmock.h>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tools/cli/local_files.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

using ::testing::EndsWith;
using ::testing::Eq;
using ::testing::HasSubstr;

// Empty: it may be a model file.
std::string told(ByteView file, const std::string& name = "net") {
  const Status status = check_model_kind(file, name);
  return status ? "" : status.error().message();
}
std::string told_of(const std::string& path) {
  const Result<Bytes> file = os::read_file(source_dir() + "/tests/" + path, 1 << 24);
  EXPECT_OK(file);
  return file ? told(*file) : "";
}

TEST(FileKind, ModelsOfOtherProgramsAreToldWithTheirConversion) {
  const std::string way = "; a model file is expected, which `coterie model convert net -o net.cotf` makes of it";
  EXPECT_EQ(told_of("golden/onnx/lenet.onnx"), "net is an ONNX model" + way);
  EXPECT_EQ(told_of("golden/onnx/lstm.onnx"), "net is an ONNX model" + way);
  EXPECT_EQ(told_of("fuzz/corpus/tflite/hand-int8"), "net is a TFLite model" + way);
  EXPECT_EQ(told_of("fuzz/corpus/mslite/hand-net"), "net is a MindSpore Lite model" + way);
}

TEST(FileKind, WeightsAreToldWithWhatPutsThemIntoAGraph) {
  for (const char* const name : {"table.safetensors", "table.npz", "table.pt", "table.ckpt", "checkpoint.pt"}) {
    EXPECT_THAT(told_of(std::string("golden/weights/") + name), EndsWith("of a graph and it")) << name;
  }
  EXPECT_THAT(told(as_bytes("PK\x03\x04"), "my net.pt"), HasSubstr("load-weights GRAPH 'my net.pt' -o net.cotf"));
}

TEST(FileKind, WhatIsNeitherIsTold) {
  EXPECT_THAT(told({}), Eq("net is empty; a model file is expected"));
  EXPECT_THAT(told(as_bytes("\x93NUMPY\x01")), HasSubstr("is a NumPy array;"));
  EXPECT_THAT(told(as_bytes("\x89HDF\r\n")), HasSubstr("is HDF5, which is not read;"));
  EXPECT_THAT(told(as_bytes("# Coterie\n")), HasSubstr("is of no format that is known here; a model file is expected"));
}

TEST(FileKind, WhatIsNoModelOfAnotherProgramIsTold) {
  const auto of = [](std::string_view file) {
    const Status status = check_foreign_kind(as_bytes(file), "net");
    return status ? "" : status.error().message();
  };
  EXPECT_EQ(of("COTF"), "net is a model file already; a model of ONNX, TFLite or MindSpore Lite is expected");
  EXPECT_THAT(of("PK\x03\x04"), HasSubstr("load-weights GRAPH net -o net.cotf"));
  EXPECT_EQ(of("\x08\x07\x12\x07pytorch"), "");
  EXPECT_EQ(of("....TFL3"), "");
  EXPECT_EQ(of("who knows"), "");
  EXPECT_THAT(check_onnx_kind(as_bytes("....MSL2"), "net").error().message(),
              Eq("net is a MindSpore Lite model; an ONNX graph is expected"));
  EXPECT_OK(check_onnx_kind(as_bytes("\x08\x07\x12\x07pytorch"), "net"));
}

TEST(FileKind, AModelThatIsCutShortIsTold) {
  const std::string head("COTF\1\0\x64\0\x18\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0", 24);
  EXPECT_THAT(told(as_bytes(head)), HasSubstr("net is cut short, with 24 of its 128 bytes; a model file is expected"));
  EXPECT_EQ(told(as_bytes(head + std::string(104, '\0'))), "");
}

TEST(FileKind, DataThatAreNoneAreToldWithTheNamesOfData) {
  const std::string file = source_dir() + "/README.md";
  const Model model = *Model::load(*make_model(ModelKind::mlp, {8, 8, 1}, 10, 1));
  EXPECT_ERROR(open_data(file, model), ErrorCode::invalid_argument,
               file + " is no data set file; the data must be one, digits, mnist:DIR");
}

TEST(FileKind, ModelFilesPassEvenIfTheyAreDamaged) {
  EXPECT_EQ(told(as_bytes("COTF")), "");
  EXPECT_EQ(told(as_bytes(std::string("COTF\x01\0\xff\xff", 8) + std::string(40, '\0'))), "");
}

}  // namespace
}  // namespace coterie::test
