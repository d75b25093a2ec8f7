// From a source to shards: the same bytes for the same seed, one encoding for all, nothing left half-written.
#include "tools/data/federate.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>

#include "base/os/file.h"
#include "device_sdk/runtime/dataset_source.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/image_files.h"
#include "tests/unit/tools/npy_files.h"
#include "tools/data/feature_shift.h"
#include "tools/data/load.h"
#include "tools/data/shard_folder.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kRows = 60;

class Federate : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    ASSERT_OK(os::write_file_atomically(directory_ / name, as_bytes(text)));
  }
  // Row i: x = i, a colour, a hospital, and whether x is above the middle.
  void put_table() {
    std::string text = "x,colour,hospital,y\n";
    for (size_t i = 0; i < kRows; ++i) {
      text += std::to_string(i) + "," + (i % 3 == 0 ? "red" : "blue") + ",h" + std::to_string(i % 4) + "," +
              (i < kRows / 2 ? "low" : "high") + "\n";
    }
    put("t.csv", text);
  }
  std::string table() const { return "csv:" + directory_ / "t.csv?target=y"; }
  Result<FederatedData> shared_out(const std::string& split, uint32_t devices = 0) const {
    return federate({.source = table(), .split = *parse_split(split), .devices = devices});
  }
  std::map<std::string, Bytes> files_in(const std::string& path) const {
    std::map<std::string, Bytes> files;
    const Result<std::vector<std::string>> names = os::list_directory(path);
    EXPECT_OK(names);
    for (const std::string& name : *names) files[name] = *os::read_file(path + "/" + name, 1 << 20);
    return files;
  }
  static Status go_on(size_t, size_t) { return {}; }

  test::TemporaryDirectory directory_;
};

TEST_F(Federate, SharesOutAPlayByWhoSpeaks) {
  std::string play;
  for (int i = 0; i < 12; ++i) {
    play += std::string("\n") + (i % 2 == 0 ? "Kent" : "Lear") + ":\n" + (i % 2 == 0 ? "abababab" : "cdcdcdcd") + "\n";
  }
  put("play.txt", play + "\nFool:\nx\n");
  const std::string source = "text:" + directory_ / "play.txt?length=4&target=last";
  const auto data = federate({.source = source, .split = *parse_split("group:speaker")});
  ASSERT_OK(data);
  EXPECT_THAT(data->groups, testing::ElementsAre("Kent", "Lear"));
  ASSERT_EQ(data->notes.size(), 1u);
  EXPECT_NE(data->notes[0].find("1 of 3 speakers"), std::string::npos) << data->notes[0];
  EXPECT_EQ(data->contract.target.classes.front(), "\n");
  for (const uint32_t device : {0u, 1u}) {
    const ExampleTable shard = data->shard(device);
    EXPECT_GE(shard.size(), kShardExamplesMin);
    for (const int32_t label : shard.labels()) {
      const std::string next = data->contract.target.classes[static_cast<size_t>(label)];
      EXPECT_TRUE(next == "\n" || (device == 0 ? next == "a" || next == "b" : next == "c" || next == "d")) << next;
    }
  }
  put("contract.json", to_json_text(data->contract));
  const std::string by_contract = "?contract=" + directory_ / "contract.json";
  put("more.txt", "dcba dcba\n");
  EXPECT_ERROR(load_data("text:" + directory_ / "more.txt" + by_contract), ErrorCode::invalid_argument,
               "has the character \" \"");
  put("more.txt", "dcbadcba\n");
  const auto more = load_data("text:" + directory_ / "more.txt" + by_contract);
  ASSERT_OK(more);
  EXPECT_EQ(more->contract, data->contract);
  EXPECT_EQ(more->examples.header.classes, data->examples.header.classes);
  EXPECT_ERROR(federate({.source = source, .split = *parse_split("group:colour")}), ErrorCode::invalid_argument,
               "group:speaker");
  EXPECT_ERROR(federate({.source = "text:" + directory_ / "play.txt?length=4"}), ErrorCode::invalid_argument,
               "target=last");
}

TEST_F(Federate, FitsTheEncodingOnWhatIsNotHeldOut) {
  put_table();
  const auto data = shared_out("iid", 4);
  ASSERT_OK(data);
  ASSERT_EQ(data->shards.size(), 4u);
  ASSERT_TRUE(data->held_out);
  EXPECT_EQ(data->held_out->size(), kRows / 5);
  double sum = 0, count = 0;
  for (const Indices& shard : data->shards) {
    for (const uint32_t index : shard) {
      sum += index;  // its x
      ++count;
    }
  }
  EXPECT_DOUBLE_EQ(data->contract.columns[0].mean, sum / count);
  EXPECT_NE(data->contract.columns[0].mean, (kRows - 1) / 2.0) << "that of all rows";
  EXPECT_THAT(data->contract.target.classes, ElementsAre("high", "low"));
}

TEST_F(Federate, GivesATargetThatIsANumberTheUnitOfWhatIsNotHeldOut) {
  std::string text = "x,price\n";
  for (size_t i = 0; i < kRows; ++i) text += std::to_string(i) + "," + std::to_string(1000 + 250 * i) + ".5\n";
  put("p.csv", text);
  const std::string source = "csv:" + directory_ / "p.csv?target=price";
  const auto data = federate({.source = source, .split = *parse_split("iid"), .devices = 3});
  ASSERT_OK(data);
  const ContractTarget& target = data->contract.target;
  EXPECT_TRUE(target.is_number);
  EXPECT_TRUE(target.is_standardised);
  double sum = 0, squares = 0, count = 0;
  std::vector<float> values(data->examples.size());
  std::memcpy(values.data(), data->examples.columns.back().data(), values.size() * sizeof(float));
  for (const Indices& shard : data->shards) {
    for (const uint32_t index : shard) {
      const auto value = static_cast<double>(values[index]);
      sum += value, squares += value * value, count += 1;
      const DatasetColumn& column = data->examples.header.target;
      EXPECT_NEAR(value * static_cast<double>(column.scale) + static_cast<double>(column.offset), 1000.5 + 250 * index,
                  0.01)
          << "the unit leads back";
    }
  }
  EXPECT_NEAR(sum / count, 0, 1e-6);
  EXPECT_NEAR(squares / count, 1, 1e-5);
  // Whoever has the contract has the same numbers.
  const std::string path = directory_ / "made";
  ASSERT_OK(write_shards(*data, source, path, go_on));
  const auto again = load_data("csv:" + directory_ / "p.csv?contract=" + path + "/contract.json");
  ASSERT_OK(again);
  EXPECT_EQ(again->examples.columns.back(), data->examples.columns.back());
  EXPECT_EQ(again->examples.header.target, data->held_out->header.target);
  const auto alone = load_data(source);
  ASSERT_OK(alone);
  EXPECT_EQ(alone->examples.header.target.scale, 1) << "one who trains for himself has it as it stands";
}

TEST_F(Federate, LeavesATargetThatNeverChangesAtItsUnit) {
  std::string text = "x,price\n";
  for (size_t i = 0; i < kRows; ++i) text += std::to_string(i) + ",2.5\n";
  put("c.csv", text);
  const auto data = federate({.source = "csv:" + directory_ / "c.csv?target=price", .split = *parse_split("iid")});
  ASSERT_OK(data);
  EXPECT_EQ(data->examples.header.target.scale, 1);
  EXPECT_EQ(data->examples.header.target.offset, 2.5f);
}

TEST_F(Federate, WritesTheSameBytesForTheSameSeed) {
  put_table();
  for (const char* split : {"iid", "dirichlet:0.3", "shards:2", "quantity:1", "feature:noise"}) {
    SCOPED_TRACE(split);
    const auto write = [&](const std::string& name, uint64_t seed) {
      const auto data = federate({.source = table(), .split = *parse_split(split), .devices = 5, .seed = seed});
      EXPECT_OK(data);
      const std::string path = directory_ / (name + split);
      EXPECT_OK(write_shards(*data, table(), path, go_on));
      return files_in(path);
    };
    const auto first = write("a", 7);
    EXPECT_THAT(first, testing::SizeIs(8));
    EXPECT_EQ(first, write("b", 7));
    EXPECT_NE(first, write("c", 8));
  }
}

TEST_F(Federate, IsReadBackAsItWasWritten) {
  put_table();
  const auto data = shared_out("dirichlet:0.5", 3);
  const std::string path = directory_ / "made";
  ASSERT_OK(write_shards(*data, table(), path, go_on));
  const auto folder = open_shards(path);
  ASSERT_OK(folder);
  EXPECT_EQ(folder->contract, data->contract);
  EXPECT_EQ(folder->split, "dirichlet:0.5");
  ASSERT_EQ(folder->devices.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    const auto shard = DatasetSource::open(folder->path_of(folder->devices[i]));
    ASSERT_OK(shard);
    EXPECT_EQ(shard->size(), folder->devices[i].examples);
    EXPECT_EQ(shard->size(), folder->devices[i].classes[0] + folder->devices[i].classes[1]);
    EXPECT_EQ(shard->header().inputs, folder->contract.inputs);
  }
}

TEST_F(Federate, LeavesNothingWhereItStops) {
  put_table();
  const auto data = shared_out("iid", 3);
  const std::string path = directory_ / "made";
  const auto stop = [](size_t done, size_t) {
    return done == 2 ? Status(Error(ErrorCode::cancelled, "stop")) : Status();
  };
  EXPECT_ERROR(write_shards(*data, table(), path, stop), ErrorCode::cancelled, "stop");
  EXPECT_FALSE(os::exists(path));
  ASSERT_OK(os::make_directories(path));
  EXPECT_ERROR(open_shards(path), ErrorCode::not_found, "was not finished");
  ASSERT_OK(os::write_file_atomically(path + "/mine", Bytes{1}));
  EXPECT_ERROR(write_shards(*data, table(), path, go_on), ErrorCode::conflict, "exists and is not empty");
  EXPECT_THAT(*os::list_directory(path), ElementsAre("mine"));
}

TEST_F(Federate, MakesADeviceOfEachGroupAndKeepsTheColumnOutOfTheInputs) {
  put_table();
  const auto data = shared_out("group:hospital");
  ASSERT_OK(data);
  EXPECT_THAT(data->groups, ElementsAre("h0", "h1", "h2", "h3"));
  for (uint32_t device = 0; device < 4; ++device) {
    for (const uint32_t index : data->shards[device]) EXPECT_EQ(index % 4, device);
  }
  EXPECT_EQ(data->contract.columns.size(), 2u);
  EXPECT_ERROR(shared_out("group:ward"), ErrorCode::invalid_argument,
               "has no column ward; it has x, colour, hospital, y");
  EXPECT_ERROR(federate({.source = "digits", .split = *parse_split("group:x")}), ErrorCode::invalid_argument,
               "only csv: has any");
}

TEST_F(Federate, DoesAsAFileSays) {
  put_table();
  std::string lines;
  for (size_t i = 0; i < kRows; ++i)
    lines += i % 5 == 4 ? "held-out\n" : i % 5 == 3 ? "-\n" : std::to_string(1 + i % 2) + "\n";
  put("who", lines);
  const auto data = shared_out("file:" + directory_ / "who");
  ASSERT_OK(data);
  ASSERT_EQ(data->shards.size(), 2u);
  EXPECT_EQ(data->shards[0].size() + data->shards[1].size(), 36u);
  EXPECT_EQ(data->held_out->size(), 12u);
  put("who", "1\n");
  EXPECT_ERROR(shared_out("file:" + directory_ / "who"), ErrorCode::invalid_argument,
               directory_ / "who: has 1 lines, expected one for each of the 60 examples");
}

// Another device's own file, read by the contract, gets the same scales, features and classes.
TEST_F(Federate, ReadsLaterDataByTheContract) {
  put_table();
  const auto data = federate({.source = table() + "&drop=hospital", .split = {}, .devices = 2});
  ASSERT_OK(write_shards(*data, table(), directory_ / "made", go_on));
  put("later.csv", "y,colour,x\nlow,green,3\n");
  const std::string contract = directory_ / "made/contract.json";
  const auto later = load_data("csv:" + directory_ / "later.csv?contract=" + contract);
  ASSERT_OK(later);
  EXPECT_EQ(later->examples.header.inputs, data->examples.header.inputs);
  EXPECT_THAT(later->examples.labels(), ElementsAre(1));
  float x = 0;
  std::memcpy(&x, later->examples.columns[0].data(), sizeof x);
  float same = 0;
  std::memcpy(&same, data->examples.columns[0].data() + 3 * 3 * sizeof(float), sizeof same);  // row 3, of 3 features
  EXPECT_EQ(x, same);
  EXPECT_THAT(later->notes, ElementsAre(HasSubstr("column colour: 1 field has a value that the fit did not see")));
  put("bad.csv", "y,colour,x\nlow,red,3\nlow,red,many\n");
  EXPECT_ERROR(load_data("csv:" + directory_ / "bad.csv?contract=" + contract), ErrorCode::malformed,
               directory_ / "bad.csv: line 3, column x: expected a number, is \"many\"");
  EXPECT_ERROR(load_data("csv:" + directory_ / "later.csv?target=y&contract=" + contract), ErrorCode::invalid_argument,
               "has no option target; it has none beside contract");
  EXPECT_ERROR(load_data("images:" + directory_ / "x?contract=" + contract), ErrorCode::invalid_argument,
               "is the contract of data of kind table, expected images");
}

TEST_F(Federate, TakesNumPyArrays) {
  ASSERT_OK(os::write_file_atomically(directory_ / "x.npy",
                                      test::npy_file<float>("<f4", "(10, 1)", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})));
  ASSERT_OK(os::write_file_atomically(directory_ / "y.npy",
                                      test::npy_file<int32_t>("<i4", "(10,)", {0, 1, 0, 1, 0, 1, 0, 1, 0, 1})));
  const auto data = federate({.source = "npy:" + directory_ / "x.npy," + directory_ / "y.npy", .devices = 2});
  ASSERT_OK(data);
  EXPECT_EQ(data->held_out->size(), 2u);
  EXPECT_EQ(data->contract.kind, "array");
  ASSERT_OK(os::write_file_atomically(directory_ / "tx.npy", test::npy_file<float>("<f4", "(2, 1)", {9, 4.5})));
  ASSERT_OK(os::write_file_atomically(directory_ / "ty.npy", test::npy_file<int32_t>("<i4", "(2,)", {1, 0})));
  const std::string test_part = "?test=" + directory_ / "tx.npy," + directory_ / "ty.npy";
  const std::string arrays = "npy:" + directory_ / "x.npy," + directory_ / "y.npy";
  const auto tested = federate({.source = arrays + test_part, .devices = 2});
  ASSERT_OK(tested);
  EXPECT_EQ(tested->shards[0].size() + tested->shards[1].size(), 10u) << "none of these is held out";
  ASSERT_TRUE(tested->held_out);
  EXPECT_THAT(tested->held_out->labels(), testing::ElementsAre(1, 0));
  EXPECT_DOUBLE_EQ(tested->contract.columns[0].mean, 4.5);
  EXPECT_ERROR(federate({.source = arrays + "?test=" + directory_ / "tx.npy"}), ErrorCode::invalid_argument,
               "npy: give two files, the inputs and the targets: test=X.npy,Y.npy");
  ASSERT_OK(os::write_file_atomically(directory_ / "y.npy", test::npy_file<int32_t>("<i4", "(1,)", {0})));
  EXPECT_ERROR(federate({.source = "npy:" + directory_ / "x.npy," + directory_ / "y.npy"}), ErrorCode::invalid_argument,
               directory_ / "x.npy: has 10 rows, and the targets have 1");
}

TEST_F(Federate, RefusesNamesThatAContractCannotHold) {
  std::string text = "x,y\n";
  for (int i = 0; i < 20; ++i) text += i % 2 == 0 ? "1,M\xfcnchen\n" : "2,Bonn\n";
  put("t.csv", text);
  EXPECT_ERROR(shared_out("iid", 2), ErrorCode::malformed, "not UTF-8; iconv -f latin1");
}

TEST_F(Federate, HoldsOutAsMuchAsItIsAskedTo) {
  put_table();
  const auto none = federate({.source = table(), .split = {}, .devices = 2, .held_out = 0});
  ASSERT_OK(none);
  EXPECT_FALSE(none->held_out);
  const auto half = federate({.source = table(), .split = {}, .devices = 2, .held_out = 0.5});
  ASSERT_OK(half);
  EXPECT_EQ(half->held_out->size(), kRows / 2);
}

TEST(FeatureShift, TurnsAndBlursImagesByDevice) {
  ExampleTable table{labelled_dataset("t", 1, {3, 3, 1}, 2), {Bytes{0, 0, 0, 200, 0, 0, 0, 0, 0}, Bytes(4)}};
  table.header.inputs[0].type = ColumnType::uint8;
  table.header.inputs[0].scale = 1.0f / 255;
  ExampleTable turned = table;
  shift_features(turned, {SplitKind::rotate, 90}, 2, 3, 1);
  EXPECT_THAT(turned.columns[0].own(),
              testing::AnyOf(ElementsAre(0, 200, 0, 0, 0, 0, 0, 0, 0), ElementsAre(0, 0, 0, 0, 0, 0, 0, 200, 0)));
  ExampleTable same = table;
  shift_features(same, {SplitKind::rotate, 90}, 1, 3, 1);
  EXPECT_EQ(same.columns, table.columns) << "the one in the middle";
  ExampleTable noisy = table;
  shift_features(noisy, {SplitKind::noise, 0.5}, 2, 3, 1);
  EXPECT_NE(noisy.columns[0], table.columns[0]);
  EXPECT_EQ(noisy.columns[1], table.columns[1]);
  const DatasetHeader flat = labelled_dataset("t", 1, {9}, 2);
  EXPECT_ERROR(check_shift({SplitKind::rotate, 90}, flat), ErrorCode::invalid_argument, "turns images");
  EXPECT_OK(check_shift({SplitKind::noise, 1}, flat));
}

TEST(FeatureShift, TurnsLabelsByGroup) {
  const std::vector<int32_t> labels = {0, 4, 5, 9};
  const ExampleTable table{labelled_dataset("t", 4, {1}, 10), {Bytes(16), column_of(labels)}};
  const DataSplit split{SplitKind::turned, 2};
  for (const uint32_t device : {0u, 1u, 2u, 3u}) {
    ExampleTable turned = table;
    shift_features(turned, split, device, 4, 1);
    const bool is_other = device % 2 == 1;
    EXPECT_THAT(std::vector<int32_t>(turned.labels().begin(), turned.labels().end()),
                is_other ? ElementsAre(5, 9, 0, 4) : ElementsAre(0, 4, 5, 9));
    EXPECT_EQ(shifted_counts(split, device, count_labels(table, std::vector<uint32_t>{0, 1, 2, 3})),
              count_labels(turned, std::vector<uint32_t>{0, 1, 2, 3}))
        << "as the folder of shards tells it";
  }
  DatasetHeader numbers = table.header;
  numbers.target.type = ColumnType::float32;
  numbers.classes = 0;
  EXPECT_ERROR(check_shift(split, numbers), ErrorCode::invalid_argument, "needs classes");
}

}  // namespace
}  // namespace coterie
