#include "tools/cli/command_line.h"

#include <gmock/gmock.h>

#include <algorithm>

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
                           {"vertical", "list"},
                           {"vertical", "status"},
                           {"vertical", "cancel"},
                           {"job", "create"},
                           {"job", "list"},
                           {"job", "show"},
                           {"job", "rounds"},
                           {"job", "result"},
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
                           {"model", "debug"},
                           {"model", "predict"},
                           {"model", "profile"},
                           {"console"},
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
                           {"node", "list"},
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

// What stands behind a colon is part of the type where the type says so, and not where a check does.
TEST(CommandLine, ShowsTheWholeTypeOfAnOption) {
  const auto help_of = [](Words words) {
    words.push_back("--help");
    Invocation invocation;
    return parse_command_line(words, invocation).text;
  };
  const std::string demo = help_of({"demo"}), train = help_of({"model", "train"}), run = help_of({"device", "run"});
  EXPECT_THAT(demo, HasSubstr("--lora rank=N:PATTERN"));
  EXPECT_THAT(demo, HasSubstr("--attack KIND:SHARE"));
  EXPECT_THAT(demo, HasSubstr("--aggregation RULE[:SETTING=VALUE,...]"));
  EXPECT_THAT(demo, HasSubstr("--security LEVEL  "));
  EXPECT_THAT(train, HasSubstr("--lora rank=N[,alpha=X]:PATTERN"));
  EXPECT_THAT(train, HasSubstr("--group PATTERN:lr=X,decay=Y"));
  EXPECT_THAT(train, HasSubstr("--replace-head LAYER:CLASSES[:SEED]"));
  EXPECT_THAT(run, HasSubstr("--lie KIND:UPDATES"));
  for (const std::string& text : {demo, train, run}) EXPECT_THAT(text, testing::Not(HasSubstr(":one of")));
  EXPECT_THAT(error_of({"signing-key", "next", "--keys", "k", "--days", "3651"}), HasSubstr("from 1 to 3650"));
}

TEST(CommandLine, AsksForAVerticalJobAsAPartyOrAsAnOperator) {
  for (const char* name : {"status", "pause", "resume", "cancel"}) {
    for (const Words& who : {Words{"--config", "label.json"}, Words{"4a81c02e5b7d4f60935ce1a2d8f7b614"}}) {
      Words words = {"vertical", name};
      words.insert(words.end(), who.begin(), who.end());
      Invocation invocation;
      EXPECT_TRUE(parse_command_line(words, invocation).runs) << name;
    }
    EXPECT_THAT(error_of({"vertical", name}), HasSubstr("--config FILE or JOB"));
    EXPECT_THAT(error_of({"vertical", name, "4a", "--config", "label.json"}), HasSubstr("excludes"));
  }
  EXPECT_THAT(error_of({"vertical", "approve", "4a"}), HasSubstr("--config is required")) << "only a party approves";
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
  EXPECT_THAT(error_of({"job"}), HasSubstr("one of: create, tune, list, show"));
}

TEST(CommandLine, SuggestsTheOptionThatWasMeantWhereverItStands) {
  EXPECT_THAT(error_of({"demo", "--device", "3"}),
              StartsWith("coterie demo: there is no option `--device`. Did you mean `--devices`?"));
  EXPECT_THAT(error_of({"demo", "--rond=3"}), HasSubstr("`--rond`. Did you mean `--rounds`?"));
  EXPECT_THAT(error_of({"--dta-dir", "x", "job", "list"}), HasSubstr("Did you mean `--data-dir`?"));
  EXPECT_THAT(error_of({"job", "list", "--data-dri", "x"}), HasSubstr("Did you mean `--data-dir`?"));
  EXPECT_THAT(error_of({"demo", "--analytics", "histogram:age", "--rounds", "3"}),
              AllOf(HasSubstr("--analytics"), HasSubstr("--rounds")));
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

TEST(CommandLine, TakesHowDevicesStopAndWhatTheyHold) {
  Invocation invocation;
  ASSERT_TRUE(
      parse_command_line({"demo", "--validation-share", "0.25", "--patience", "3", "--storage", "bf16"}, invocation)
          .runs);
  EXPECT_EQ(invocation.demo.early_stopping, (EarlyStopping{0.25f, 3}));
  EXPECT_EQ(invocation.demo.storage, Storage::bfloat16);
  Invocation patient;
  ASSERT_TRUE(parse_command_line({"demo", "--patience", "2"}, patient).runs);
  EXPECT_EQ(patient.demo.early_stopping, (EarlyStopping{.patience = 2})) << "with the usual share";
  EXPECT_THAT(error_of({"demo", "--validation-share", "0.6"}), HasSubstr("--validation-share: must be a number from"));
  EXPECT_THAT(error_of({"demo", "--patience", "0"}), HasSubstr("--patience: must be a whole number from 1 to 1000"));
  EXPECT_THAT(error_of({"demo", "--storage", "fp16"}), HasSubstr("must be one of float32, bf16, is fp16"));
  ASSERT_TRUE(parse_command_line({"demo", "--qat", "weights:4"}, patient).runs);
  EXPECT_EQ(patient.demo.qat, (QuantisedTraining{QuantisedParts::weights, 4}));
  EXPECT_THAT(error_of({"demo", "--qat", "int8"}), HasSubstr("is full or weights"));
  ASSERT_TRUE(parse_command_line({"demo", "--ignore-label", "-100"}, patient).runs);
  EXPECT_EQ(patient.demo.ignore_label, -100);
  EXPECT_THAT(error_of({"demo", "--ignore-label", "none"}), HasSubstr("integer of 32 bits"));
}

TEST(CommandLine, TakesHeads) {
  Invocation invocation;
  ASSERT_TRUE(parse_command_line({"model", "train", "net.cotf", "--data", "digits", "--head", "a:softmax_cross_entropy",
                                  "--head", "b:l1:0.5"},
                                 invocation)
                  .runs);
  EXPECT_EQ(invocation.train.training.loss.heads[1], (TrainingHead{"b", Loss::l1, 0.5f}));
  EXPECT_THAT(error_of({"model", "train", "net.cotf", "--data", "digits", "--head", "b:l1:0"}), HasSubstr("above 0"));
  ASSERT_TRUE(parse_command_line({"demo", "--head", "a:huber", "--head", "b:l1:0.5"}, invocation).runs);
  ASSERT_EQ(invocation.demo.heads.size(), 2u);
  EXPECT_EQ(invocation.demo.judged_by().loss, Loss::huber);
  EXPECT_THAT(error_of({"demo", "--head", "a:l1", "--loss", "l1"}), HasSubstr("--loss"));
  EXPECT_THAT(error_of({"model", "evaluate", "net.cotf", "--data", "digits", "--head", "b:l1", "--loss", "l1"}),
              HasSubstr("--loss"));
}

TEST(CommandLine, SaysWhichWidthsDevicesTrain) {
  Invocation invocation;
  ASSERT_TRUE(parse_command_line({"demo", "--widths", "1,0.5,0.0625"}, invocation).runs);
  EXPECT_EQ(invocation.demo.widths, (std::vector<uint32_t>{1'000'000, 500'000, 62'500}));
  for (const char* bad : {"1,,0.5", "1,2", "half", "1,0", ""}) {
    EXPECT_THAT(error_of({"demo", "--widths", bad}), HasSubstr("--widths: must be numbers in (0, 1]")) << bad;
  }
  EXPECT_THAT(error_of({"device", "run", "--width-max", "1.5"}), HasSubstr("--width-max: must be"));
  EXPECT_THAT(error_of({"model", "narrow", "m.cotf", "-o", "n.cotf"}), HasSubstr("--width is required"));
}

TEST(CommandLine, SaysWhatDevicesKeepToThemselves) {
  const auto personal = [](const char* text) {
    Invocation invocation;
    EXPECT_TRUE(parse_command_line({"demo", "--personal", text}, invocation).runs) << text;
    return invocation.demo.personal;
  };
  EXPECT_EQ(personal("part:dense2.*"), PersonalSettings{.parameters = {"dense2.*"}});
  EXPECT_EQ(personal("part,norms,first_epochs=2:a,b.*"),
            (PersonalSettings{.parameters = {"a", "b.*"}, .norms = true, .first_epochs = 2}));
  EXPECT_EQ(personal("part,norms"), PersonalSettings{.norms = true});
  EXPECT_EQ(personal("model,lambda=0.5"), (PersonalSettings{.kind = PersonalKind::model, .lambda = 0.5f}));
  EXPECT_EQ(personal("clusters,count=2"), (PersonalSettings{.kind = PersonalKind::clusters, .count = 2}));
  for (const auto& [bad, why] : {std::pair{"all", "must begin with part, model or clusters"},
                                 {"part,lambda=1", "lambda=1 is no setting of part"},
                                 {"model,norms", "norms is no setting of model"},
                                 {"model,lambda=x", "lambda=x is no setting of model"},
                                 {"model,lambda=1:a", "no parameters are named"},
                                 {"part:a,,b", "patterns of parameters with commas"}}) {
    EXPECT_THAT(error_of({"demo", "--personal", bad}), HasSubstr(why)) << bad;
  }
  EXPECT_THAT(error_of({"simulate", "j.json", "--held-out-share", "0.6"}), HasSubstr("--held-out-share: must be"));
  EXPECT_THAT(error_of({"simulate", "j.json", "--mean-of-last", "0"}), HasSubstr("--mean-of-last: must be"));
  EXPECT_THAT(error_of({"device", "personal-model", "--job", "j"}), HasSubstr("is required"));
}

// Each option of a device alone: a value that it takes, one that it does not, and why.
TEST(CommandLine, ChecksEveryOptionOfADevice) {
  struct Row {
    const char* option;
    const char* good;
    const char* bad;
    const char* why;
  };
  const Row rows[] = {
      {"--security-level-min", "active_dp", "secret", "must be one of none, masked, active, active_dp"},
      {"--cohort-min", "10000", "1", "from 2 to 10000"},
      {"--epsilon-round-max", "inf", "-1", "must be a number from 0"},
      {"--epsilon-total-max", "0.5", "x", "must be a number from 0"},
      {"--delta-max", "0", "1", "must be a number from 0"},
      {"--separation-min", "0", "-1", "must be a whole number from 0"},
      {"--corrupt-share-min", "0.1", "0.09", "must be a number from 0.1"},
      {"--attempts-max", "1", "0", "must be a whole number from 1"},
      {"--openings-max", "7", "0", "must be a whole number from 1"},
      {"--require", "charging,unmetered,idle", "charged", "must be some of idle, charging"},
      {"--require", "background", "foreground,background", "background"},
      {"--battery-percent-min", "100", "101", "from 0 to 100"},
      {"--thermal-max", "fair", "unknown", "must be one of nominal, fair, serious, critical"},
      {"--free-memory-min", "64M", "much", "such as 64M"},
      {"--cpu-seconds-per-day", "3600", "-1", "must be a number from 0"},
      {"--upload-bytes-per-day", "100M", "-1", "such as 64M"},
      {"--download-bytes-per-day", "1G", "1X", "such as 64M"},
      {"--joules-per-day", "5000", "nan", "must be a number from 0"},
      {"--watts", "1000", "1001", "from 0 to 1000"},
      {"--rounds", "0", "1.5", "must be a whole number"},
      {"--seed", "18446744073709551615", "-3", "must be a whole number"},
      {"--authority-key", "0101010101010101010101010101010101010101010101010101010101010101", "01", "hexadecimal"},
      {"--lie", "sign_flip:3", "truth:1", "a lie is KIND:UPDATES"},
  };
  const Words base = {"device", "run", "--server", "https://h:1", "--state-dir", "d", "--data", "digits"};
  const auto with = [&](const char* option, const char* value) {
    Words words = base;
    words.insert(words.end(), {option, value});
    return words;
  };
  for (const Row& row : rows) {
    Invocation invocation;
    EXPECT_TRUE(parse_command_line(with(row.option, row.good), invocation).runs) << row.option << " " << row.good;
    EXPECT_THAT(error_of(with(row.option, row.bad)), AllOf(HasSubstr(row.option), HasSubstr(row.why)));
  }
  EXPECT_THAT(error_of(with("--certificate", "zz")), HasSubstr("hexadecimal digits"));
  for (const char* required : {"--server", "--state-dir", "--data"}) {
    Words words = base;
    const auto at = std::ranges::find(words, required);
    words.erase(at, at + 2);
    EXPECT_THAT(error_of(words), HasSubstr(std::string(required) + " is required"));
  }
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
