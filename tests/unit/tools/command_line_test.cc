#include "tools/cli/command_line.h"

#include <gmock/gmock.h>

#include "tools/demo/job_request.h"

namespace coterie {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

using Words = std::vector<std::string>;

const Words kCommands[] = {{"demo"},
                           {"vertical", "demo"},
                           {"vertical", "party"},
                           {"job", "create"},
                           {"job", "list"},
                           {"job", "show"},
                           {"job", "rounds"},
                           {"job", "watch"},
                           {"job", "pause"},
                           {"job", "resume"},
                           {"job", "cancel"},
                           {"model", "new"},
                           {"model", "list"},
                           {"model", "download"},
                           {"model", "upload"},
                           {"model", "inspect"},
                           {"model", "evaluate"},
                           {"model", "train"},
                           {"model", "why-nan"},
                           {"model", "predict"},
                           {"model", "profile"},
                           {"serve"},
                           {"device", "run"},
                           {"device", "list"},
                           {"device", "revoke"},
                           {"privacy", "account"},
                           {"privacy", "show"},
                           {"token", "create"},
                           {"token", "list"},
                           {"token", "remove"},
                           {"admin-token", "create"},
                           {"admin-token", "list"},
                           {"admin-token", "remove"},
                           {"audit", "list"},
                           {"audit", "verify"},
                           {"doctor"},
                           {"server", "status"},
                           {"signing-key", "next"},
                           {"signing-key", "switch"},
                           {"signing-key", "revoke"},
                           {"signing-key", "show"},
                           {"completion"},
                           {"man"}};

std::string error_of(const Words& words) {
  Invocation invocation;
  const Parsed parsed = parse_command_line(words, invocation);
  EXPECT_FALSE(parsed.runs);
  EXPECT_TRUE(parsed.is_error);
  EXPECT_EQ(parsed.text.find('\n'), parsed.text.size() - 1) << "not one line: " << parsed.text;
  return parsed.text;
}

TEST(CommandLine, TeachesByExampleInTheHelpOfEveryCommand) {
  for (const Words& command : kCommands) {
    std::string name = "coterie";
    for (const std::string& word : command) name += " " + word;
    Words words = command;
    words.push_back("--help");
    Invocation invocation;
    const Parsed parsed = parse_command_line(words, invocation);
    EXPECT_FALSE(parsed.runs);
    EXPECT_FALSE(parsed.is_error);
    EXPECT_THAT(parsed.text, AllOf(HasSubstr("Usage: " + name), HasSubstr("Examples:\n"))) << name;
    EXPECT_THAT(parsed.text.substr(parsed.text.find("Examples:")), HasSubstr(name)) << name;
  }
}

TEST(CommandLine, ListsTheGroupsAndTheExitCodes) {
  Invocation invocation;
  const Parsed parsed = parse_command_line({"--help"}, invocation);
  for (const char* text : {"demo", "job", "model", "device", "token", "server", "130 interrupted", "--data-dir DIR"}) {
    EXPECT_THAT(parsed.text, HasSubstr(text));
  }
  EXPECT_TRUE(parse_command_line({}, invocation).is_error);
  EXPECT_THAT(parse_command_line({"--version"}, invocation).text, StartsWith("coterie "));
}

TEST(CommandLine, SuggestsTheCommandThatWasMeant) {
  EXPECT_THAT(error_of({"demp"}), StartsWith("coterie: there is no `demp`. Did you mean `demo`? It is one of: demo, "
                                             "simulate, sweep, compare, vertical, data, job"));
  EXPECT_THAT(error_of({"--data-dir", "x", "job", "lst"}),
              StartsWith("coterie job: there is no `lst`. Did you mean `list`?"));
  EXPECT_THAT(error_of({"frobnicate"}), StartsWith("coterie: there is no `frobnicate`. It is one of:"));
  EXPECT_THAT(error_of({"job"}), HasSubstr("one of: create, list, show"));
}

TEST(CommandLine, SuggestsTheOptionThatWasMeantWhereverItStands) {
  EXPECT_THAT(error_of({"demo", "--device", "3"}),
              StartsWith("coterie demo: there is no option `--device`. Did you mean `--devices`?"));
  EXPECT_THAT(error_of({"demo", "--rond=3"}), HasSubstr("`--rond`. Did you mean `--rounds`?"));
  EXPECT_THAT(error_of({"--dta-dir", "x", "job", "list"}), HasSubstr("Did you mean `--data-dir`?"));
  EXPECT_THAT(error_of({"job", "list", "--data-dri", "x"}), HasSubstr("Did you mean `--data-dir`?"));
  EXPECT_THAT(error_of({"demo", "--whatever"}), EndsWith("no option `--whatever`. See `coterie demo --help`.\n"));
}

TEST(CommandLine, SaysWhatItExpectedAndWhatItSaw) {
  EXPECT_THAT(error_of({"demo", "--devices", "0"}),
              HasSubstr("--devices: must be a whole number from 1 to 2000, is 0."));
  EXPECT_THAT(error_of({"demo", "--devices", "3x"}), HasSubstr("is 3x."));
  EXPECT_THAT(error_of({"demo", "--seed", "-1"}), HasSubstr("--seed: must be a whole number from 0 to"));
  EXPECT_THAT(error_of({"demo", "--lr", "nan"}), HasSubstr("--lr: must be a number from"));
  EXPECT_THAT(error_of({"demo", "--model", "cnm"}),
              HasSubstr("must be one of mlp, logistic, cnn, lenet5 or a model file, is cnm. Did you mean `cnn`?"));
  EXPECT_THAT(error_of({"demo", "--split", "dirichlet:0"}), HasSubstr("must be iid, dirichlet:ALPHA, shards:K"));
  EXPECT_THAT(error_of({"job", "list", "-o", "xml"}), HasSubstr("must be one of table, json, is xml"));
  EXPECT_THAT(error_of({"job", "show"}), HasSubstr("JOB is required"));
  EXPECT_THAT(error_of({"demo", "extra"}), HasSubstr("extra"));
}

TEST(CommandLine, ABatchIsOfSteps) {
  Invocation invocation;
  EXPECT_TRUE(parse_command_line({"model", "inspect", "m.cotf", "--steps", "--batch", "4"}, invocation).runs);
  EXPECT_TRUE(parse_command_line({"model", "show", "m.cotf", "--steps"}, invocation).runs);
  EXPECT_THAT(error_of({"model", "inspect", "m.cotf", "--batch", "4"}), HasSubstr("--steps"));
  EXPECT_THAT(error_of({"model", "inspect", "m.cotf", "--steps", "--batch", "0"}), HasSubstr("--batch"));
}

TEST(CommandLine, FillsTheOptionsOfADemo) {
  Invocation invocation;
  const Words words = {"demo",   "--devices",  "7",       "--rounds",   "9",    "--data", "mnist:x", "--model",
                       "lenet5", "--split",    "iid",     "--fraction", "0.25", "--lr",   "0.05",    "--local-epochs",
                       "3",      "--strategy", "fedadam", "--seed",     "11",   "--out",  "here",    "--json"};
  ASSERT_TRUE(parse_command_line(words, invocation).runs);
  const DemoOptions& demo = invocation.demo;
  EXPECT_EQ(demo.devices, 7u);
  EXPECT_EQ(demo.rounds, 9u);
  EXPECT_EQ(demo.data, "mnist:x");
  EXPECT_EQ(demo.model, ModelKind::lenet5);
  EXPECT_EQ(demo.split.kind, SplitKind::iid);
  EXPECT_EQ(demo.fraction, 0.25);
  EXPECT_EQ(demo.goal_count(), 2u);
  EXPECT_EQ(demo.learning_rate, 0.05);
  EXPECT_EQ(demo.local_epochs, 3u);
  EXPECT_STREQ(demo.strategy->name, "fedadam");
  EXPECT_EQ(demo.server_rate(), 0.01);
  EXPECT_EQ(demo.seed, 11u);
  EXPECT_EQ(demo.out, "here");
  EXPECT_TRUE(demo.json);
}

TEST(CommandLine, TakesWhereEventFilesGo) {
  Invocation invocation;
  ASSERT_TRUE(parse_command_line({"demo", "--log-dir", "logs"}, invocation).runs);
  EXPECT_EQ(invocation.demo.log_dir, "logs");
  ASSERT_TRUE(parse_command_line({"simulate", "job.json", "--log-dir", "here", "--events"}, invocation).runs);
  EXPECT_EQ(invocation.simulate.demo.log_dir, "here");
  EXPECT_TRUE(invocation.simulate.events);
  EXPECT_TRUE(parse_command_line({"model", "train", "m.cotf", "--data", "digits", "--log-dir", "l"}, invocation).runs);
}

TEST(CommandLine, FillsASecureDemo) {
  Invocation invocation;
  ASSERT_TRUE(
      parse_command_line({"demo", "--security", "masked", "--dropout", "0.1", "--cohort-max", "5"}, invocation).runs);
  EXPECT_EQ(invocation.demo.security, SecurityLevel::masked);
  EXPECT_EQ(invocation.demo.dropout, 0.1);
  EXPECT_EQ(invocation.demo.cohort_max, 5u);
  EXPECT_THAT(error_of({"demo", "--cohort-max", "1"}), HasSubstr("--cohort-max"));
  EXPECT_THAT(error_of({"demo", "--security", "active-dp"}), HasSubstr("--security"));
  EXPECT_THAT(error_of({"demo", "--dropout", "0.31"}), HasSubstr("--dropout: must be a number from 0 to 0.3"));
}

TEST(CommandLine, LetsTheLastOfARepeatedOptionCount) {
  Invocation invocation;
  ASSERT_TRUE(
      parse_command_line({"demo", "--rounds", "3", "--model", "mlp", "--rounds=4", "--model", "cnn"}, invocation).runs);
  EXPECT_EQ(invocation.demo.rounds, 4u);
  EXPECT_EQ(invocation.demo.model, ModelKind::cnn);
}

TEST(CommandLine, LeavesTheDefaultsOfADemoAsTheyAre) {
  Invocation invocation;
  ASSERT_TRUE(parse_command_line({"demo"}, invocation).runs);
  EXPECT_EQ(*job_request(invocation.demo, 5, Digest{}, Digest{}), *job_request(DemoOptions{}, 5, Digest{}, Digest{}));
  EXPECT_EQ(to_string(invocation.demo.split), to_string(DemoOptions{}.split));
  EXPECT_EQ(invocation.demo.security, SecurityLevel::active);
}

TEST(CommandLine, TakesTheConnectionBeforeOrBehindTheCommand) {
  for (const Words& words :
       {Words{"--data-dir", "d", "--ca", "c", "job", "list"}, Words{"job", "list", "--data-dir=d", "--ca=c"}}) {
    Invocation invocation;
    ASSERT_TRUE(parse_command_line(words, invocation).runs);
    EXPECT_EQ(invocation.admin.connection.data_dir, "d");
    EXPECT_EQ(invocation.admin.connection.ca_file, "c");
  }
}

}  // namespace
}  // namespace coterie
