// coterie data make and inspect, as they are typed.
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"
#include "tests/unit/tools/strict_xml.h"
#include "tools/cli/data_report.h"
#include "tools/cli/terminal.h"
#include "tools/cli/wrap.h"

namespace coterie::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class DataCommand : public ::testing::Test {
 protected:
  DataCommand() {
    std::string text = "age,a column with a name that is longer than any table has room for,job,income\n";
    for (int i = 0; i < 100; ++i) {
      text += (i == 7 ? "" : std::to_string(20 + i % 50)) + ",3," + (i % 3 == 0 ? "\"nurse, night\"" : "cook") + "," +
              (i % 4 == 0 ? ">50K" : "<=50K") + "\n";
    }
    put("people.csv", text);
  }
  void put(const std::string& name, const std::string& text) {
    EXPECT_OK(os::write_file_atomically(directory_ / name, as_bytes(text)));
  }
  std::string people() const { return "csv:" + directory_ / "people.csv?target=income"; }
  std::string made() const { return directory_ / "made"; }
  CommandOutcome make(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"data", "make", people(), "-o", made(), "--devices", "4"};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words);
  }

  TemporaryDirectory directory_;
};

// Paths are as long as their user makes them.
void expect_fits(const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.find('/') == std::string::npos) EXPECT_LE(width_of(line), 80) << line;
    begin = end + 1;
  }
}

TEST_F(DataCommand, MakesShardsAndSaysWhatItDid) {
  const CommandOutcome outcome = make({"--seed", "3"});
  ASSERT_EQ(outcome.code, ExitCode::ok) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("people: 80 examples on 4 devices (iid, seed 3), 20 held out\n"),
                    HasSubstr("target income: 2 classes (<=50K, >50K)\n"), HasSubstr("column age: 1 value is missing"),
                    HasSubstr("a shard a device, up to device-04.cotf"), HasSubstr("demo --data " + made())));
  EXPECT_THAT(*os::list_directory(made()), ElementsAre("contract.json", "data.json", "device-01.cotf", "device-02.cotf",
                                                       "device-03.cotf", "device-04.cotf", "held-out.cotf"));
  expect_fits(outcome.out);
}

TEST_F(DataCommand, SaysWhatItGuessed) {
  const auto out = [this](const std::string& target) {
    return run_command({"data", "inspect", "csv:" + directory_ / "people.csv?target=" + target}).out;
  };
  put("people.csv", "age,few,pay\n30,1,10.5\n40,2,11\n35,1,12\n");
  EXPECT_THAT(out("pay"), HasSubstr("target pay: a number, 10.5 to 12, deviation 0.62361; a guess, as=class"));
  EXPECT_THAT(out("few"), HasSubstr("target few: 2 classes (1, 2); a guess, as=number takes it as a number"));
  EXPECT_THAT(out("few&as=class"), Not(HasSubstr("guess")));
}

TEST_F(DataCommand, ShowsEachOfSeveralTargets) {
  const std::string several = "csv:" + directory_ / "people.csv?target=income,job";
  const CommandOutcome outcome = run_command({"data", "make", several, "-o", made(), "--devices", "4"});
  ASSERT_EQ(outcome.code, ExitCode::ok) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("target income: 2 classes (<=50K, >50K)\n"),
                                 HasSubstr("target job: 2 classes (cook, nurse, night)\n")));
  const CommandOutcome inspected = run_command({"data", "inspect", made(), "--svg", directory_ / "who.svg"});
  EXPECT_THAT(inspected.out, AllOf(HasSubstr("target job: 2 classes"), HasSubstr("device-04")));
  expect_fits(inspected.out);
  const CommandOutcome file = run_command({"data", "inspect", made() + "/device-01.cotf"});
  EXPECT_THAT(file.out, HasSubstr("target, 2 of an example: 2 classes (0, 1)"));
}

TEST_F(DataCommand, RefusesInOneLineWithWhatWasExpected) {
  const auto error = [](const CommandOutcome& outcome) {
    EXPECT_EQ(outcome.code, ExitCode::usage);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  put("bad.csv", "x,y\n1,a\n2\n");
  EXPECT_THAT(error(run_command({"data", "make", "csv:" + directory_ / "bad.csv?target=y", "-o", made()})),
              HasSubstr("bad.csv: line 3: has 1 fields, expected 2"));
  EXPECT_THAT(error(run_command({"data", "make", people() + "&colour=red", "-o", made()})),
              HasSubstr("csv: has no option colour; it has target, as,"));
  EXPECT_THAT(error(make({"--split", "rotate"})), HasSubstr("the split must be iid,"));
  EXPECT_THAT(error(make({"--split", "feature:rotate"})), HasSubstr("turns images"));
  EXPECT_THAT(error(make({"--held-out", "1"})), HasSubstr("--held-out: must be a number from 0 to 0.9"));
  EXPECT_FALSE(os::exists(made()));
  ASSERT_EQ(make().code, ExitCode::ok);
  EXPECT_THAT(error(make()), HasSubstr("exists and is not empty; name another folder with -o"));
}

TEST_F(DataCommand, ShowsWhoHasWhatWithinEightyColumns) {
  ASSERT_EQ(make({"--split", "shards:1"}).code, ExitCode::ok);
  const CommandOutcome outcome = run_command({"data", "inspect", made(), "--svg", directory_ / "who.svg"});
  ASSERT_EQ(outcome.code, ExitCode::ok) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("number    20 to 69"), HasSubstr("constant  3"),
                                 HasSubstr("category  2 values: cook, nurse"), HasSubstr("DEVICE"),
                                 HasSubstr("device-04"), HasSubstr("held-out")));
  expect_fits(outcome.out);
  const Result<Bytes> svg = os::read_file(directory_ / "who.svg", 1 << 20);
  ASSERT_OK(svg);
  EXPECT_THAT(std::string(as_text(*svg)),
              AllOf(HasSubstr("Who has what"), HasSubstr("&lt;=50K"), Not(HasSubstr("Loss"))));
}

TEST_F(DataCommand, ShowsASourceAndAFile) {
  const CommandOutcome source = run_command({"data", "inspect", people()});
  EXPECT_THAT(source.out, AllOf(HasSubstr("people: 100 examples\n"), HasSubstr("all")));
  expect_fits(source.out);
  expect_fits(run_command({"data", "inspect", "digits"}).out);
  ASSERT_EQ(make().code, ExitCode::ok);
  const CommandOutcome file = run_command({"data", "inspect", made() + "/device-01.cotf"});
  EXPECT_THAT(file.out, HasSubstr("people: 20 examples"));
  EXPECT_EQ(run_command({"data", "inspect", directory_ / "nothing"}).code, ExitCode::usage);
}

TEST_F(DataCommand, PrintsJsonAlone) {
  const CommandOutcome outcome = make({"--json", "--split", "dirichlet:0.5"});
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["schema"], "coterie.data.v1");
  EXPECT_EQ(json["split"], "dirichlet:0.5");
  EXPECT_EQ(json["devices"].size(), 4u);
  EXPECT_EQ(json["contract"]["columns"][2]["values"], nlohmann::json({"cook", "nurse, night"}));
  EXPECT_EQ(nlohmann::json::parse(run_command({"data", "inspect", made(), "-o", "json"}).out), json);
}

TEST_F(DataCommand, HelpsWithinEightyColumns) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"data", "make", "--help"},
                                                {"data", "inspect", "--help"},
                                                {"demo", "--help"},
                                                {"device", "run", "--help"}}) {
    expect_fits(run_command(words).err);
  }
}

TEST(DataReport, ShowsAsManyClassesAsThereIsRoomFor) {
  ShardFolder folder;
  folder.contract.inputs = {{.name = "features", .shape = {1}}};
  for (int i = 0; i < 100; ++i)
    folder.contract.target.classes.push_back("a class with a long name " + std::to_string(i));
  for (int device = 1; device <= 50; ++device) {
    folder.devices.push_back({.file = "device-" + std::to_string(device) + ".cotf",
                              .examples = 123456,
                              .classes = std::vector<uint32_t>(100, 1234)});
  }
  const std::string table = device_table(folder, 80, 40);
  expect_fits(table);
  EXPECT_THAT(table, AllOf(HasSubstr(" more\n"), HasSubstr("and 10 devices more")));
}

TEST(Wrap, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrapped("", 7, 2), "");
  EXPECT_EQ(wrapped("a verylongword b", 5, 1), "a\n verylongword\n b");
}

TEST_F(DataCommand, KeepsDataForTheNextRun) {
  const std::string folder = directory_ / "cache";
  EXPECT_THAT(run_command({"data", "cache", "stats", folder}).err, HasSubstr("there is no folder " + folder));
  const CommandOutcome without = run_command({"data", "inspect", people(), "-o", "json"});
  const std::vector<std::string> inspect = {"data", "inspect", people(), "-o", "json", "--data-cache", folder};
  EXPECT_EQ(run_command(inspect).out, without.out);
  EXPECT_EQ(run_command(inspect).out, without.out);
  const CommandOutcome stats = run_command({"data", "cache", "stats", folder, "-o", "json"});
  ASSERT_EQ(stats.code, ExitCode::ok) << stats.err;
  const auto json = nlohmann::json::parse(stats.out);
  EXPECT_EQ(json["entries"], 1);
  EXPECT_EQ(json["in_use"], 0) << "the commands are over";
  EXPECT_EQ(json["counts"]["hits"], 1);
  EXPECT_EQ(json["counts"]["misses"], 1);
  EXPECT_THAT(run_command({"data", "cache", "stats", folder}).out, HasSubstr("time saved"));
  EXPECT_EQ(run_command({"data", "cache", "verify", folder}).out, "1 entry, 0 damaged\n");
  const auto names = os::list_directory(folder);
  for (const std::string& name : *names) {
    if (!name.ends_with(".entry")) continue;
    Bytes bad = *os::read_file(folder + "/" + name, 1 << 20);
    bad.back() ^= 1;
    ASSERT_OK(os::write_file_atomically(folder + "/" + name, bad));
  }
  const CommandOutcome damaged = run_command({"data", "cache", "verify", folder});
  EXPECT_EQ(damaged.code, ExitCode::failure);
  EXPECT_THAT(damaged.err, HasSubstr("fails its checksum"));
  EXPECT_EQ(run_command(inspect).out, without.out) << "made anew";
  EXPECT_EQ(run_command({"data", "cache", "clear", folder}).out, "1 entry removed\n");
  // A limit that the entry is beyond.
  std::vector<std::string> little = inspect;
  little.insert(little.end(), {"--data-cache-max-bytes", "1K"});
  const CommandOutcome full = run_command(little);
  EXPECT_EQ(full.out, without.out);
  EXPECT_THAT(full.err, HasSubstr("beyond the limit of 1024"));
  // Devices have none.
  EXPECT_EQ(run_command({"device", "run", "--data-cache", folder}).code, ExitCode::usage);
  // The variable stands in for the option, and does not overrule it.
  const std::string other = directory_ / "other";
  ::setenv("COTERIE_DATA_CACHE", other.c_str(), 1);
  EXPECT_EQ(run_command(inspect).out, without.out);
  EXPECT_FALSE(os::exists(other));
  EXPECT_EQ(run_command({"data", "inspect", people(), "-o", "json"}).out, without.out);
  ::unsetenv("COTERIE_DATA_CACHE");
  EXPECT_TRUE(os::exists(other));
}

}  // namespace
}  // namespace coterie::test
