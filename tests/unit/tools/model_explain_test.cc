// coterie model explain as a command: what it says, with which exit code, and the picture that it writes.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/os/file.h"
#include "model_io/image_file.h"
#include "secure/crypto/digest.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/explain/planted_models.h"
#include "tests/unit/tools/idx_files.h"
#include "tests/unit/tools/run_command.h"
#include "tools/explain/explanation_record.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

class ModelExplainCommand : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string written(const std::string& name, const Model& model) const {
    EXPECT_OK(os::write_file_atomically(path(name), model.file()));
    return path(name);
  }
  std::string table() const {
    std::string text = "age,\x1b[31mred,job,good\n";
    for (int i = 0; i < 40; ++i) {
      text += std::to_string(20 + i % 7) + "," + std::to_string(i % 5) + "," + (i % 3 == 0 ? "clerk" : "cook") + "," +
              (i % 2 == 0 ? "no" : "yes") + "\n";
    }
    EXPECT_OK(os::write_file_atomically(path("t.csv"), as_bytes(text)));
    return "csv:" + path("t.csv") + "?target=good";
  }
  static CommandOutcome explain(std::vector<std::string> words) {
    words.insert(words.begin(), {"model", "explain"});
    return run_command(words);
  }

 private:
  TemporaryDirectory folder_;
};

// age, red, job=clerk, job=cook: the first and the last count.
TEST_F(ModelExplainCommand, NamesTheColumnsThatMatter) {
  const std::string model = written("m.cotf", planted_sum({4}, 0, 3)), data = table();
  const CommandOutcome said = explain({model, "--data", data, "--limit", "2", "--top", "2", "--class", "0"});
  ASSERT_EQ(said.code, ExitCode::ok) << said.err;
  EXPECT_THAT(said.out, HasSubstr("example 0: output 0 is "));
  EXPECT_THAT(said.out, HasSubstr(", the label is "));
  EXPECT_THAT(said.out, HasSubstr("\nage "));
  EXPECT_THAT(said.out, HasSubstr("\njob=cook "));
  EXPECT_THAT(said.out, HasSubstr("\nexample 1: "));
  const CommandOutcome sampled =
      explain({model, "--data", data, "--class", "0", "--limit", "1", "--method", "shapley", "--orders", "2"});
  EXPECT_THAT(sampled.out, HasSubstr(" +-  ")) << sampled.err;
  const CommandOutcome whole = explain({model, "--data", data, "--class", "0", "--top", "4"});
  EXPECT_EQ(whole.out.find('\x1b'), std::string::npos) << "a column's name moved the cursor";
  std::istringstream lines(whole.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(ModelExplainCommand, SaysWhichLayerWasMeant) {
  const std::string model = path("net.cotf");
  ASSERT_EQ(run_command({"model", "new", "cnn", "--input", "8x8x1", "-o", model}).code, ExitCode::ok);
  const auto refused = [&](const std::string& layer) {
    const CommandOutcome said = explain({model, "--data", "digits", "--method", "grad_cam", "--layer", layer});
    EXPECT_EQ(said.code, ExitCode::usage) << layer;
    return said.err;
  };
  EXPECT_THAT(refused("convv2"), HasSubstr("the model has no layer convv2; did you mean `conv2`?"));
  EXPECT_THAT(refused("encoder"), HasSubstr("has no layer encoder; feature maps are given by `max_pool2d1`"));
  EXPECT_THAT(refused("dense1"), HasSubstr("dense1 gives no [height, width, channels]; feature maps are given by"));
}

TEST_F(ModelExplainCommand, JsonHasAllValuesAndTheyAddUp) {
  const std::string model = written("m.cotf", planted_sum({8, 8, 1}, 20, 43));
  const CommandOutcome said =
      explain({model, "--data", "digits", "--example", "7", "--example", "9", "--class", "0", "--json"});
  ASSERT_EQ(said.code, ExitCode::ok) << said.err;
  const nlohmann::json json = nlohmann::json::parse(said.out);
  EXPECT_EQ(json["method"], "integrated_gradients");
  ASSERT_EQ(json["explanations"].size(), 2u);
  for (const auto& one : json["explanations"]) {
    ASSERT_EQ(one["attributions"].size(), 64u);
    double sum = 0;
    for (const auto& value : one["attributions"]) sum += value.get<double>();
    EXPECT_NEAR(sum, one["score"].get<double>() - static_cast<double>(kOffset), 1e-4);
  }
  EXPECT_EQ(json["explanations"][1]["example"], 9);
}

TEST_F(ModelExplainCommand, DrawsImages) {
  const std::string model = written("m.cotf", planted_sum({8, 8, 1}, 2 * 8 + 5, 6 * 8 + 1));
  for (const char* method : {"gradient", "occlusion"}) {
    SCOPED_TRACE(method);
    std::vector<std::string> words = {model, "--data", "digits", "--limit", "2", "--class", "0", "--method", method};
    if (method == std::string("occlusion")) words.insert(words.end(), {"--patch", "1", "--stride", "1"});
    words.insert(words.end(), {"--png", path("why.png")});
    const CommandOutcome said = explain(words);
    ASSERT_EQ(said.code, ExitCode::ok) << said.err;
    const Result<Bytes> file = os::read_file(path("why.png"), 1 << 24);
    ASSERT_OK(file);
    const Result<Picture> picture = decode_png(*file);
    ASSERT_OK(picture);
    EXPECT_EQ(picture->height, 2u * (224 + 8));
    EXPECT_EQ(picture->width, 2u * 224 + 8);
  }
  ASSERT_EQ(explain({model, "--data", "digits", "--limit", "1", "--class", "0", "--method", "gradient", "--png",
                     path("why.png")})
                .code,
            ExitCode::ok);
  const Picture picture = *decode_png(*os::read_file(path("why.png"), 1 << 24));
  const auto colour = [&](size_t row, size_t column) {
    const size_t at = ((row * 28 + 14) * picture.width + 224 + 8 + column * 28 + 14) * 3;
    return std::vector<int>{picture.pixels[at], picture.pixels[at + 1], picture.pixels[at + 2]};
  };
  EXPECT_EQ(colour(2, 5), (std::vector<int>{255, 0, 0}));
  EXPECT_EQ(colour(6, 1), (std::vector<int>{85, 85, 255})) << "two thirds of blue";
  EXPECT_EQ(colour(0, 0), (std::vector<int>{255, 255, 255}));
}

TEST_F(ModelExplainCommand, KeepsPicturesInTheFolderOfTheRunThatMadeTheModel) {
  EXPECT_OK(os::make_directories(path("run")));
  const std::string model = written("run/model.cotf", planted_sum({8, 8, 1}, 2 * 8 + 5, 6 * 8 + 1));
  const std::string other = written("other.cotf", planted_sum({8, 8, 1}, 0, 1));
  const auto kept = [&](const std::string& file, const std::string& run) {
    return explain(
        {file, "--data", "digits", "--limit", "2", "--class", "0", "--method", "gradient", "--check", "--run", run});
  };
  EXPECT_NE(kept(model, path("run")).code, ExitCode::usage);
  EXPECT_THAT(*os::list_directory(path("run/explanations")),
              ::testing::ElementsAre("gradient-0-0.json", "gradient-0-0.png", "gradient-1-0.json", "gradient-1-0.png"));
  const Result<ExplanationRecord> record =
      parse_explanation(as_text(*os::read_file(path("run/explanations/gradient-1-0.json"), kExplanationJsonBytesMax)));
  ASSERT_OK(record);
  EXPECT_EQ(record->model_digest, content_digest(*os::read_file(model, 1 << 20)));
  EXPECT_EQ(record->data, "digits");
  EXPECT_TRUE(record->label);
  ASSERT_TRUE(record->checked);
  EXPECT_GT(record->checked->random_insertion, 0);
  EXPECT_EQ(decode_png(*os::read_file(path("run/explanations/gradient-1-0.png"), 1 << 24))->height, 224u + 8);
  EXPECT_THAT(kept(other, path("run")).err, HasSubstr("run/model.cotf; explain that one"));
  EXPECT_EQ(kept(model, path("nowhere")).code, ExitCode::usage);
  EXPECT_FALSE(os::exists(path("nowhere")));
}

TEST_F(ModelExplainCommand, KeepsWhatCanBeReadAgainWhateverTheDataIsCalled) {
  std::string name;
  for (int i = 0; i < 84; ++i) name += "\u56f3";  // 3 bytes, a column
  EXPECT_OK(os::make_directories(path("run")));
  EXPECT_OK(os::make_directories(path(name)));
  EXPECT_OK(os::write_file_atomically(path(name + "/train-images-idx3-ubyte"), idx_images(1)));
  EXPECT_OK(os::write_file_atomically(path(name + "/train-labels-idx1-ubyte"), idx_labels({1})));
  const std::string model = written("run/model.cotf", planted_sum({2, 3, 1}, 0, 5));
  const CommandOutcome said =
      explain({model, "--data", "mnist:" + path(name), "--class", "0", "--method", "gradient", "--run", path("run")});
  ASSERT_EQ(said.code, ExitCode::ok) << said.err;
  const Result<ExplanationRecord> record =
      parse_explanation(as_text(*os::read_file(path("run/explanations/gradient-0-0.json"), kExplanationJsonBytesMax)));
  ASSERT_OK(record);
  EXPECT_TRUE(record->data.ends_with(".."));
  EXPECT_LE(record->data.size(), kExplanationTextBytesMax);
}

TEST_F(ModelExplainCommand, ChecksDecideTheExitCode) {
  const std::string model = written("m.cotf", planted_sum({8, 8, 1}, 3 * 8 + 3, 4 * 8 + 4));
  const CommandOutcome held =
      explain({model, "--data", "digits", "--limit", "6", "--class", "0", "--check", "--top", "1"});
  EXPECT_EQ(held.code, ExitCode::ok) << held.out;
  EXPECT_THAT(held.out, HasSubstr("\ndeletion "));
  const nlohmann::json json = nlohmann::json::parse(
      explain({model, "--data", "digits", "--limit", "6", "--class", "1", "--check", "--json"}).out);
  EXPECT_TRUE(json["checks"]["randomisation"].contains("attribution"));
  // Pixels that are 0 in each digit: no order is better than another.
  const std::string blind = written("blind.cotf", planted_sum({8, 8, 1}, 0, 56));
  const CommandOutcome none = explain({blind, "--data", "digits", "--class", "0", "--limit", "1", "--check"});
  EXPECT_EQ(none.code, ExitCode::failure) << none.out;
}

TEST_F(ModelExplainCommand, PermutationRanksColumnsOfATable) {
  const std::string model = written("m.cotf", planted_sum({4}, 0, 3)), data = table();
  const CommandOutcome said = explain({model, "--data", data, "--method", "permutation", "--repeats", "3"});
  ASSERT_EQ(said.code, ExitCode::ok) << said.err;
  EXPECT_THAT(said.out, HasSubstr("FEATURE"));
  EXPECT_EQ(said.out.find('\x1b'), std::string::npos);
  const nlohmann::json json =
      nlohmann::json::parse(explain({model, "--data", data, "--method", "permutation", "--json"}).out);
  ASSERT_EQ(json["features"].size(), 3u) << "a column of categories is one feature";
  uint32_t read = 0;
  for (const auto& feature : json["features"]) {
    const bool is_read = feature["feature"] == "age" || feature["feature"] == "job";
    read += is_read ? 1 : 0;
    EXPECT_EQ(feature["loss_rise"] != 0, is_read) << feature;
  }
  EXPECT_EQ(read, 2u);
  for (const std::vector<std::string>& option : std::vector<std::vector<std::string>>{{"--check"},
                                                                                      {"--png", path("x.png")},
                                                                                      {"--example", "1"},
                                                                                      {"--limit", "3"},
                                                                                      {"--class", "1"},
                                                                                      {"--steps", "50"}}) {
    std::vector<std::string> words = {model, "--data", data, "--method", "permutation"};
    words.insert(words.end(), option.begin(), option.end());
    const CommandOutcome refused = explain(words);
    EXPECT_EQ(refused.code, ExitCode::usage) << option[0];
    EXPECT_THAT(refused.err, HasSubstr(option[0] + ": --method permutation does not read it"));
  }
  EXPECT_THAT(explain({model, "--data", data, "--repeats", "3"}).err,
              HasSubstr("--repeats: --method integrated_gradients does not read it: it is for permutation"));
}

TEST_F(ModelExplainCommand, AnOptionOfAnotherMethodIsUsage) {
  const std::string model = written("m.cotf", planted_sum({8, 8, 1}, 3, 4));
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {model, "--data", "digits", "--limit", "1", "--class", "0"};
    words.insert(words.end(), more.begin(), more.end());
    return explain(words);
  };
  const CommandOutcome refused = with({"--method", "gradient", "--masks", "5"});
  EXPECT_EQ(refused.code, ExitCode::usage);
  EXPECT_THAT(refused.err, HasSubstr("--masks: --method gradient does not read it: it is for rise"));
  EXPECT_EQ(with({"--method", "gradient", "--baseline", "1"}).code, ExitCode::usage);
  EXPECT_NE(with({"--method", "gradient", "--baseline", "1", "--check"}).code, ExitCode::usage) << "the check reads it";
  EXPECT_THAT(with({"--method", "occlusion", "--patch", "9"}).err,
              HasSubstr("a patch of 9 is larger than the image of 8 x 8"));
}

TEST_F(ModelExplainCommand, APictureIsNoInput) {
  const std::string model = written("m.cotf", planted_sum({8, 8, 1}, 3, 4));
  const Bytes before = *os::read_file(model, 1 << 20);
  const CommandOutcome said = explain({model, "--data", "digits", "--png", path("./m.cotf")});
  EXPECT_EQ(said.code, ExitCode::usage);
  EXPECT_THAT(said.err, HasSubstr("--png names a file that has another purpose"));
  EXPECT_EQ(*os::read_file(model, 1 << 20), before);
}

TEST_F(ModelExplainCommand, WhatCannotBeExplainedIsUsage) {
  const std::string model = written("m.cotf", planted_sum({4}, 0, 3)), data = table();
  EXPECT_THAT(explain({model, "--data", data, "--example", "40"}).err, HasSubstr("there is no example 40"));
  EXPECT_THAT(explain({model, "--data", data, "--class", "2"}).err, HasSubstr("there is no class 2"));
  EXPECT_THAT(explain({model, "--data", data, "--method", "gradint"}).err, HasSubstr("Did you mean `gradient`?"));
  EXPECT_THAT(explain({model, "--data", data, "--method", "rise"}).err, HasSubstr("rise is for images"));
  EXPECT_THAT(explain({model, "--data", data, "--png", path("no.png")}).err, HasSubstr("only images"));
  EXPECT_FALSE(os::exists(path("no.png")));
  EXPECT_EQ(explain({model, "--data", data, "--example", "-1"}).code, ExitCode::usage);
  EXPECT_EQ(explain({model, "--data", data, "--steps", "0"}).code, ExitCode::usage);
  EXPECT_EQ(explain({model, "--data", "digits"}).code, ExitCode::usage) << "of another shape";
  EXPECT_EQ(explain({path("nowhere.cotf"), "--data", data}).code, ExitCode::usage);
  EXPECT_OK(os::write_file_atomically(path("bad.cotf"), as_bytes("no model at all")));
  EXPECT_EQ(explain({path("bad.cotf"), "--data", data}).code, ExitCode::usage);
}

}  // namespace
}  // namespace coterie::test
