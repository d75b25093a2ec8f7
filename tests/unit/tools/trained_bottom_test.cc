#include "tools/vertical/trained_bottom.h"

#include <gtest/gtest.h>

#include "base/os/file.h"
#include "device_sdk/runtime/model.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tools/vertical/make_bottom.h"
#include "tools/vertical/party_inputs.h"

namespace coterie {
namespace {

constexpr const char* kTable = "id,more,b,a\n1,0,5,2\n2,1,7,3\n";

// A party that has the columns more, b and a; its devices had a and b.
class TrainedBottomTest : public ::testing::Test {
 protected:
  TrainedBottomTest() {
    manifest_.model = VerticalModel::split;
    manifest_.split = {.hidden = 3, .cut = 2};
    config_.table_file = directory_ / "t.csv";
    config_.bottom = {.model = directory_ / "model.cotf", .contract = directory_ / "contract.json", .digest = {}};
    EXPECT_OK(os::write_file_atomically(config_.table_file, as_bytes(kTable)));
    put_contract({{.name = "a", .mean = 1, .deviation = 2, .missing = 1}, {.name = "b", .mean = 4, .deviation = 3}});
    put_model(manifest_.split, 3, 1);
  }

  void put_contract(std::vector<ContractColumn> columns, const std::string& kind = "table") const {
    InputContract contract{.kind = kind, .name = "devices", .columns = std::move(columns)};
    contract.inputs = inputs_of(contract);
    contract.target.classes = {"no", "yes"};
    EXPECT_OK(os::write_file_atomically(config_.bottom->contract, as_bytes(to_json_text(contract))));
  }
  void put_model(const vertical::SplitSettings& settings, uint32_t inputs, uint64_t seed) const {
    EXPECT_OK(
        os::write_file_atomically(config_.bottom->model, *vertical::make_bottom_model(settings, inputs, 2, seed)));
  }
  void refuses(ErrorCode code, std::string_view reason, std::string_view words) const {
    const Result<PartyInputs> inputs = read_party_inputs(config_, manifest_);
    EXPECT_ERROR(inputs, code, words);
    if (!inputs) EXPECT_EQ(inputs.error().reason(), reason);
  }
  Digest digest() const {
    const Result<PartyInputs> inputs = read_party_inputs(config_, manifest_);
    EXPECT_OK(inputs);
    return inputs ? inputs->digest : Digest();
  }

  test::TemporaryDirectory directory_{test::memory_disk()};
  PartyConfig config_;
  VerticalManifest manifest_;
};

TEST_F(TrainedBottomTest, FindsEachColumnOfTheDevicesByItsName) {
  const Result<PartyInputs> inputs = read_party_inputs(config_, manifest_);
  ASSERT_OK(inputs);
  ASSERT_TRUE(inputs->bottom);
  const auto& columns = inputs->bottom->columns;
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_FALSE(columns[0]) << "more";
  ASSERT_TRUE(columns[1] && columns[2]);
  EXPECT_EQ(columns[1]->input, 2u) << "behind a and whether a is missing";
  EXPECT_EQ(columns[1]->mean, 4);
  EXPECT_EQ(columns[1]->deviation, 3);
  EXPECT_EQ(columns[2]->input, 0u);
  ASSERT_EQ(inputs->bottom->layers.layers.size(), 2u);
  EXPECT_EQ(inputs->bottom->layers.layers[0].inputs, 3u);
}

TEST_F(TrainedBottomTest, IsPartOfWhatTheInputsAreKnownBy) {
  const Digest first = digest();
  EXPECT_EQ(digest(), first);
  put_model(manifest_.split, 3, 2);
  const Digest other_model = digest();
  EXPECT_NE(other_model, first);
  put_contract({{.name = "a", .mean = 1, .deviation = 2, .missing = 1}, {.name = "b", .mean = 4, .deviation = 5}});
  EXPECT_NE(digest(), other_model);
  config_.bottom.reset();
  EXPECT_NE(digest(), first);
}

TEST_F(TrainedBottomTest, RefusesAnotherModelThanTheOneThatIsMeant) {
  const Model model = *Model::load(*os::read_file(config_.bottom->model, 1 << 20));
  config_.bottom->digest = model.digest();
  EXPECT_OK(read_party_inputs(config_, manifest_));
  config_.bottom->digest->bytes[0] ^= 1;
  refuses(ErrorCode::refused, "bottom_model", "model.cotf is the model " + model.digest().hex());
}

TEST_F(TrainedBottomTest, RefusesLayersOfAnotherJob) {
  manifest_.split.cut = 5;
  refuses(ErrorCode::invalid_argument, "bottom_differs",
          "model.cotf: split: the bottom is not of this job: layer of the");
  manifest_.split.cut = 2;
  put_model(manifest_.split, 2, 1);
  refuses(ErrorCode::invalid_argument, "bottom_differs", "its input: expected 3 numbers");
}

TEST_F(TrainedBottomTest, NamesTheColumnThatDoesNotFit) {
  put_contract({{.name = "a", .deviation = 1}, {.name = "c", .deviation = 1}});
  refuses(ErrorCode::invalid_argument, "bottom_columns", "contract.json: the table has no column c");
  put_contract({{.name = "a", .deviation = 1}, {.name = "a", .deviation = 1}});
  refuses(ErrorCode::invalid_argument, "bottom_columns", "contract.json: the column a is there twice");
  put_contract({{.name = "a", .is_category = true, .values = {"x", "y"}}});
  refuses(ErrorCode::invalid_argument, "bottom_columns", "contract.json: the column a is a category");
  put_contract({{.name = "b", .text_bytes = 4}});
  refuses(ErrorCode::invalid_argument, "bottom_columns", "contract.json: the column b is a text");
  put_contract({{.name = "a", .deviation = 1}}, "array");
  refuses(ErrorCode::invalid_argument, "bottom_columns", "contract.json: a contract of kind array, expected table");
}

TEST_F(TrainedBottomTest, IsRefusedWhereNoMlpIsTrained) {
  manifest_.split.network = vertical::SplitNetwork::wide_deep;
  refuses(ErrorCode::invalid_argument, "bottom_unexpected", "there is a bottom");
  manifest_ = {};
  refuses(ErrorCode::invalid_argument, "bottom_unexpected", "there is a bottom");
  manifest_ = {.model = VerticalModel::split, .predicts = Digest()};
  refuses(ErrorCode::invalid_argument, "bottom_unexpected", "there is a bottom");
}

TEST_F(TrainedBottomTest, IsMadeByTheCommandThatDevicesBeginWith) {
  const std::string manifest = directory_ / "manifest.json";
  manifest_.matching.id_type = "id";
  manifest_.parties = {"left", "right"};
  EXPECT_OK(os::write_file_atomically(manifest, as_bytes(write_manifest(manifest_))));
  EXPECT_EQ(run_make_bottom(
                {.manifest = manifest, .contract = config_.bottom->contract, .to = config_.bottom->model, .seed = 9}),
            ExitCode::ok);
  const Result<PartyInputs> inputs = read_party_inputs(config_, manifest_);
  EXPECT_OK(inputs);
  const Model model = *Model::load(*os::read_file(config_.bottom->model, 1 << 20));
  EXPECT_EQ(model.output_shape(), Shape{2}) << "classes of the contract";
  EXPECT_EQ(run_make_bottom({.manifest = manifest, .contract = directory_ / "none", .to = "x"}), ExitCode::usage);
  InputContract several = *read_contract(config_.bottom->contract);
  several.targets = {{.column = "y", .classes = {"no", "yes"}}, {.column = "z", .is_number = true}};
  EXPECT_OK(os::write_file_atomically(config_.bottom->contract, as_bytes(to_json_text(several))));
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_make_bottom({.manifest = manifest, .contract = config_.bottom->contract, .to = directory_ / "none"}),
            ExitCode::usage);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("takes one target, and an example of devices has 2: y, z"),
            std::string::npos);
}

TEST(PartyConfig, HasABottom) {
  const std::string rest = R"("role": "feature", "manifest": "m", "approved": ")" + Digest().hex() +
                           R"(", "table": "t", "out": "o", "connect": "h:1",
                              "tls": {"ca": "a", "certificate": "b", "key": "c", "peer_name": "d"})";
  const auto config =
      parse_party_config(R"({"bottom": {"model": "run/model.cotf", "contract": "/c.json"}, )" + rest + "}", "/f");
  ASSERT_OK(config);
  ASSERT_TRUE(config->bottom);
  EXPECT_EQ(config->bottom->model, "/f/run/model.cotf");
  EXPECT_EQ(config->bottom->contract, "/c.json");
  EXPECT_FALSE(config->bottom->digest);
  EXPECT_ERROR(parse_party_config(R"({"bottom": {"model": "m", "digets": ""}, )" + rest + "}", "/f"),
               ErrorCode::invalid_argument, "contract");
}

}  // namespace
}  // namespace coterie
