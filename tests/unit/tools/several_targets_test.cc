// Data with several targets: what becomes of their columns, what the contract says, and who refuses them by name.
#include <gmock/gmock.h>

#include <cstring>

#include "base/os/file.h"
#include "model_io/contract_targets.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/npy_files.h"
#include "tools/data/federate.h"
#include "tools/data/load.h"
#include "tools/data/shard_folder.h"

namespace coterie {
namespace {

using test::npy_file;
using testing::ElementsAre;

constexpr std::string_view kPeople =
    "job,age,class,x\n"
    "cook,20,low,1\n"
    "nurse,41,high,2\n"
    "cook,30,mid,3\n"
    "cook,25,low,4\n";

class SeveralTargets : public testing::Test {
 protected:
  SeveralTargets() { put("people.csv", kPeople); }
  void put(const std::string& name, std::string_view text) {
    EXPECT_OK(os::write_file_atomically(directory_ / name, as_bytes(text)));
  }
  void put(const std::string& name, const Bytes& bytes) {
    EXPECT_OK(os::write_file_atomically(directory_ / name, bytes));
  }
  std::string people(const std::string& target) const { return "csv:" + directory_ / "people.csv?target=" + target; }
  std::string arrays(const std::string& options) const {
    return "npy:" + directory_ / "x.npy," + directory_ / "y.npy" + options;
  }

  test::TemporaryDirectory directory_;
};

template <typename T>
std::vector<T> cells_of(const ExampleTable& table) {
  std::vector<T> cells(table.columns.back().size() / sizeof(T));
  std::memcpy(cells.data(), table.columns.back().data(), table.columns.back().size());
  return cells;
}

TEST_F(SeveralTargets, NumbersAndClassesStandInOneRowOfNumbers) {
  const auto data = load_data(people("class,age&as=class,number"));
  ASSERT_OK(data);
  EXPECT_EQ(data->examples.header.target.type, ColumnType::float32);
  EXPECT_EQ(data->examples.header.target.shape, Shape{2});
  EXPECT_EQ(data->examples.header.target.scale, 1.f);
  EXPECT_EQ(data->examples.header.classes, 0u);
  EXPECT_THAT(cells_of<float>(data->examples), ElementsAre(1, 20, 0, 41, 2, 30, 1, 25)) << "ages are years";
  ASSERT_EQ(data->contract.targets.size(), 2u);
  EXPECT_THAT(data->contract.targets[0].classes, ElementsAre("high", "low", "mid"));
  EXPECT_EQ(data->contract.targets[1].column, "age");
  EXPECT_EQ(data->contract.targets[1].high, 41);
  EXPECT_EQ(data->contract.columns.size(), 2u) << "job and x; targets are no inputs";
}

TEST_F(SeveralTargets, ClassesAloneAreLabels) {
  const auto data = load_data(people("class,job,age&as=class"));
  ASSERT_OK(data);
  EXPECT_EQ(data->examples.header.target.type, ColumnType::int32);
  EXPECT_EQ(data->examples.header.classes, 4u) << "of the ages";
  EXPECT_THAT(cells_of<int32_t>(data->examples), ElementsAre(1, 0, 0, 0, 1, 3, 2, 0, 2, 1, 0, 1));
  EXPECT_TRUE(data->examples.labels().empty()) << "an example has no one class";
}

TEST_F(SeveralTargets, AColumnMayHaveACommaInItsName) {
  put("people.csv", "\"age,class\",x\nlow,1\nhigh,2\n");
  const auto data = load_data(people("age,class"));
  ASSERT_OK(data);
  EXPECT_TRUE(data->contract.targets.empty());
  EXPECT_EQ(data->contract.target.column, "age,class");
}

TEST_F(SeveralTargets, ErrorsNameWhatIsWrong) {
  EXPECT_ERROR(load_data(people("class,wage")), ErrorCode::invalid_argument, "has no column wage");
  EXPECT_ERROR(load_data(people("class,class")), ErrorCode::invalid_argument, "the target class is named twice");
  EXPECT_ERROR(load_data(people("class,age&as=class,number,number")), ErrorCode::invalid_argument,
               "as= says what 3 targets are, and there are 2");
  EXPECT_ERROR(load_data(people("class,age&as=class,text")), ErrorCode::invalid_argument,
               "as must be class or number, is \"text\"");
  EXPECT_ERROR(load_data(people("class,age&as=number")), ErrorCode::malformed, "line 2, column class");
  EXPECT_ERROR(load_data(people("job,age,class,x")), ErrorCode::invalid_argument, "has no column but the target");
}

TEST_F(SeveralTargets, AContractReadsLaterDataAlike) {
  const auto data = load_data(people("class,age&as=class,number"));
  ASSERT_OK(data);
  const std::string text = to_json_text(data->contract);
  const auto again = parse_contract(text);
  ASSERT_OK(again);
  EXPECT_EQ(*again, data->contract);
  put("contract.json", text);
  put("later.csv", "age,x,class,job\n99,1,mid,cook\n");
  const std::string later = "csv:" + directory_ / "later.csv?contract=" + directory_ / "contract.json";
  const auto read = load_data(later);
  ASSERT_OK(read);
  EXPECT_THAT(cells_of<float>(read->examples), ElementsAre(2, 99));
  put("later.csv", "age,x,class,job\n99,1,poor,cook\n");
  EXPECT_ERROR(load_data(later), ErrorCode::malformed,
               "line 2, column class: \"poor\" is none of the 3 classes: high, low, mid");
}

TEST_F(SeveralTargets, AContractSaysWhereItIsWrong) {
  const auto data = load_data(people("class,age&as=class,number"));
  ASSERT_OK(data);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = to_json_text(data->contract);
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return parse_contract(text.replace(at, from.size(), to));
  };
  EXPECT_ERROR(changed("\"targets\": [", "\"target\": {}, \"targets\": ["), ErrorCode::malformed,
               "/targets: expected target or targets, not both");
  EXPECT_ERROR(changed("\"targets\": [", "\"targets\": [4, "), ErrorCode::malformed, "/targets/0: expected an object");
  EXPECT_ERROR(changed("\"kind\": \"class\"", "\"kind\": \"text\""), ErrorCode::malformed, "/targets/0/kind");
  EXPECT_ERROR(changed("\"low\": 20.0", "\"standardise\": true, \"low\": 20.0"), ErrorCode::malformed, "/targets/1");
  EXPECT_ERROR(changed("\"targets\"", "\"target\""), ErrorCode::malformed, "/target: expected an object");
  EXPECT_ERROR(parse_contract(R"({"schema":"coterie.input_contract.v1","kind":"table","name":"t","standardise":true,)"
                              R"("one_hot":true,"refuses_missing":false,"columns":[],"inputs":[],"targets":[]})"),
               ErrorCode::malformed, "/targets: expected an array of 2 to 4096");
}

TEST_F(SeveralTargets, DevicesGetThemAsTheyStandThere) {
  std::string rows = "x,y,z\n";
  for (int i = 0; i < 40; ++i) rows += std::to_string(i) + "," + std::to_string(1000 + i) + (i % 2 ? ",u\n" : ",v\n");
  put("people.csv", rows);
  const auto data = federate({.source = people("z,y"), .split = *parse_split("iid"), .devices = 2});
  ASSERT_OK(data);
  const auto made = write_shards(*data, "s", directory_ / "made", [](size_t, size_t) { return Status(); });
  ASSERT_OK(made);
  const auto opened = open_shards(directory_ / "made");
  ASSERT_OK(opened);
  EXPECT_EQ(opened->contract, data->contract);
  const ExampleTable shard = data->shard(0);
  EXPECT_EQ(shard.header.target.offset, 0.f);
  for (size_t i = 1; i < 2 * shard.size(); i += 2) EXPECT_GE(cells_of<float>(shard)[i], 1000);
  for (const std::string split : {"dirichlet:0.5", "shards:2", "labels:turned"}) {
    EXPECT_ERROR(federate({.source = people("z,y"), .split = *parse_split(split), .devices = 2}),
                 ErrorCode::invalid_argument, "takes one target, and an example of people has 2: z, y");
  }
}

TEST_F(SeveralTargets, AnArraysContractSaysHowMany) {
  put("x.npy", npy_file<float>("<f4", "(3, 1)", {1, 2, 3}));
  put("y.npy", npy_file<float>("<f4", "(3, 2)", {1, 0.5f, 0, 7, 2, -1}));
  const auto data = load_data(arrays(""));
  ASSERT_OK(data);
  EXPECT_EQ(data->contract.target.cells, 2u);
  EXPECT_ERROR(check_one_target(data->contract, "it"), ErrorCode::invalid_argument,
               "it takes one target, and an example of x has 2");
  put("contract.json", to_json_text(data->contract));
  const std::string by_contract = "?contract=" + directory_ / "contract.json";
  ASSERT_OK(load_data(arrays(by_contract)));
  put("y.npy", npy_file<float>("<f4", "(3, 3)", {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_ERROR(load_data(arrays(by_contract)), ErrorCode::invalid_argument,
               "goes with 3 targets a row, and the contract is one of 2");
}

// A scale is one target's: it made the first numbers of several rows another unit than the others.
TEST_F(SeveralTargets, ArraysWithOneScaleAreRefused) {
  put("x.npy", npy_file<float>("<f4", "(3, 1)", {1, 2, 3}));
  put("y.npy", npy_file<float>("<f4", "(3,)", {1, 0.5f, 7}));
  auto contract = load_data(arrays(""))->contract;
  put("y.npy", npy_file<float>("<f4", "(3, 2)", {1, 0.5f, 0, 7, 2, -1}));
  put("contract.json", to_json_text(contract));
  const std::string by_contract = "?contract=" + directory_ / "contract.json";
  const auto before = load_data(arrays(by_contract));  // as contracts of before say nothing of it
  ASSERT_OK(before);
  EXPECT_THAT(cells_of<float>(before->examples), ElementsAre(1, 0.5f, 0, 7, 2, -1));
  contract.target.is_standardised = true;
  put("contract.json", to_json_text(contract));
  EXPECT_ERROR(load_data(arrays(by_contract)), ErrorCode::invalid_argument,
               "goes with 2 targets a row, and the contract is one of 1");
}

}  // namespace
}  // namespace coterie
