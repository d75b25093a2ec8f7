#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "secure/crypto/signature.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/stored_zstd.h"
#include "tools/vertical/coordinator_config.h"
#include "tools/vertical/cut_table.h"
#include "tools/vertical/demo_report.h"
#include "tools/vertical/example_tables.h"
#include "tools/vertical/job_folder.h"
#include "tools/vertical/manifest.h"
#include "tools/vertical/model_part.h"
#include "tools/vertical/party.h"
#include "tools/vertical/party_config.h"
#include "tools/vertical/party_inputs.h"
#include "tools/vertical/party_links.h"
#include "tools/vertical/party_table.h"
#include "tools/vertical/scores.h"

namespace coterie {
namespace {

Result<PartyTable> table(const std::string& text) { return parse_party_table(text, "t.csv", "id", "label"); }

TEST(PartyTable, HasIdsLabelsAndColumnsInAnyOrder) {
  const Result<PartyTable> read = table("age,label,id,income\n3,1,a,1.5\n,0,b,2\n");
  ASSERT_OK(read);
  EXPECT_EQ(*read->ids, vertical::IdList({"a", "b"}));
  EXPECT_EQ(read->names, (std::vector<std::string>{"age", "income"}));
  EXPECT_EQ(read->labels, (std::vector<float>{1, 0}));
  EXPECT_EQ(read->columns[0][0], 3);
  EXPECT_TRUE(std::isnan(read->columns[0][1]));
  EXPECT_EQ(read->columns[1], (std::vector<float>{1.5, 2}));
  EXPECT_EQ(rows_of(read->columns, {1, 0})[1], (std::vector<float>{2, 1.5}));
}

TEST(PartyTable, NamesFileLineAndColumnOfWhatIsWrong) {
  EXPECT_ERROR(table("id,label,x\na,1,2\nb,1\n"), ErrorCode::malformed, "t.csv: line 3");
  EXPECT_ERROR(table("id,label,x\na,1,2\nb,1,two\n"), ErrorCode::malformed,
               "t.csv: line 3, column x: must be a finite");
  EXPECT_ERROR(table("id,label,x\na,1,1e99\n"), ErrorCode::malformed, "line 2, column x");
  EXPECT_ERROR(table("id,label,x\na,2,2\n"), ErrorCode::malformed, "line 2, column label: a label must be 0 or 1");
  EXPECT_ERROR(table("id,label,x\na,,2\n"), ErrorCode::malformed, "line 2, column label");
  EXPECT_ERROR(table("id,label,x\na,1,2\na,1,2\n"), ErrorCode::malformed, "line 3, column id: this id was there");
  EXPECT_ERROR(table("id,label,x\n\nb,1,2\n\"a\n\",1,2\nc,1,2\nb,1,2\n\"a\n\",1,2\n"), ErrorCode::malformed,
               "line 7, column id: this id was there before, in row 1 below the header");
  EXPECT_ERROR(table("id,label,x\n"), ErrorCode::malformed, "no rows below its header");
  EXPECT_ERROR(table(""), ErrorCode::malformed, "no rows below its header");
  EXPECT_ERROR(table("id,label,x\n\"\",1,2\n"), ErrorCode::malformed, "line 2, column id");
  EXPECT_ERROR(table("key,label,x\na,1,2\n"), ErrorCode::invalid_argument, "id");
  EXPECT_ERROR(table("id,x\na,2\n"), ErrorCode::invalid_argument, "label");
}

TEST(PartyTable, TheExamplesOverlap) {
  const Result<PartyTable> label = table(std::string(as_text(kLabelPartyBytes)));
  const Result<PartyTable> feature = parse_party_table(as_text(kFeaturePartyBytes), "feature_party.csv", "id", "");
  ASSERT_OK(label);
  ASSERT_OK(feature);
  EXPECT_EQ(label->columns.size(), 10u);
  EXPECT_EQ(feature->columns.size(), 20u);
  EXPECT_EQ(label->ids->size(), 549u);
  EXPECT_EQ(feature->ids->size(), 554u);
}

std::string config_text(const std::string& role, const std::string& address) {
  return R"({"role": ")" + role + R"(", "manifest": "m.json", "approved": ")" + Digest{}.hex() +
         R"(", "table": "/t.csv",
    "out": "results", )" +
         address + R"(, "tls": {"ca": "ca.pem", "certificate": "c.pem", "key": "k.pem",
    "peer_name": "other"}})";
}

TEST(PartyConfig, TakesPathsFromItsOwnFolder) {
  const Result<PartyConfig> config = parse_party_config(config_text("label", R"("listen": "[::1]:0")"), "/folder");
  ASSERT_OK(config);
  EXPECT_TRUE(config->is_label_party);
  EXPECT_EQ(config->manifest_file, "/folder/m.json");
  EXPECT_EQ(config->table_file, "/t.csv");
  EXPECT_EQ(config->host, "::1");
  EXPECT_EQ(config->port, 0);
  EXPECT_EQ(config->tls.peer_name, "other");
}

TEST(PartyConfig, NamesTheFieldThatIsWrong) {
  const auto parse = [](const std::string& role, const std::string& address) {
    return parse_party_config(config_text(role, address), ".");
  };
  EXPECT_ERROR(parse("feature", R"("listen": "h:1")"), ErrorCode::invalid_argument, "/connect");
  EXPECT_ERROR(parse("feature", R"("connect": "h:0")"), ErrorCode::invalid_argument, "/connect");
  EXPECT_ERROR(parse("feature", R"("connect": "h:70000")"), ErrorCode::invalid_argument, "/connect");
  EXPECT_ERROR(parse("judge", R"("connect": "h:1")"), ErrorCode::invalid_argument, "/role");
  EXPECT_ERROR(parse("label", R"("listen": "h:1", "patience_ms": 1)"), ErrorCode::invalid_argument, "/patience_ms");
  EXPECT_ERROR(parse_party_config("[]", "."), ErrorCode::invalid_argument, "");
}

TEST(PartyConfig, HasACoordinatorInThePlaceOfItsPeer) {
  for (const char* role : {"label", "feature"}) {
    const Result<PartyConfig> config =
        parse_party_config(config_text(role, R"("coordinator": {"address": "h:7", "name": "meeting"})"), "/folder");
    ASSERT_OK(config);
    ASSERT_TRUE(config->coordinator);
    EXPECT_EQ(config->coordinator->host, "h");
    EXPECT_EQ(config->coordinator->port, 7);
    EXPECT_EQ(config->coordinator->tls.peer_name, "meeting");
    EXPECT_EQ(config->coordinator->tls.ca_file, "/folder/ca.pem");
    EXPECT_EQ(config->coordinator->tls.key_file, "/folder/k.pem");
  }
  const auto parse = [](const std::string& more) { return parse_party_config(config_text("label", more), "."); };
  EXPECT_EQ(parse(R"("coordinator": {"address": "h:7", "name": "m", "ca": "/x.pem"})")->coordinator->tls.ca_file,
            "/x.pem");
  EXPECT_ERROR(parse(R"("coordinator": {"address": "h:0", "name": "m"})"), ErrorCode::invalid_argument,
               "/coordinator/address");
  EXPECT_ERROR(parse(R"("coordinator": {"address": "h:7"})"), ErrorCode::invalid_argument, "/coordinator/name");
  EXPECT_ERROR(parse(R"("coordinator": {"address": "h:7", "name": "m"}, "listen": "h:1")"), ErrorCode::invalid_argument,
               "/listen");
}

TEST(PartyLinks, KnowsWhichOfSeveralPartiesItIs) {
  PartyConfig config;
  config.coordinator.emplace();
  VerticalManifest manifest;
  EXPECT_EQ(*place_of(config, manifest), 1u) << "a role is enough where there are two";
  manifest.parties = {"a", "b", "c"};
  EXPECT_EQ(place_of(config, manifest).error().reason(), "name_missing");
  config.name = "c";
  EXPECT_EQ(*place_of(config, manifest), 2u);
  config.name = "a";
  EXPECT_EQ(place_of(config, manifest).error().reason(), "not_a_party") << "that is the label party's";
  config.is_label_party = true;
  EXPECT_EQ(*place_of(config, manifest), 0u);
  config.coordinator.reset();
  EXPECT_EQ(place_of(config, manifest).error().reason(), "coordinator_missing");
}

TEST(PartyConfig, TakesPeersOfTheManifestWhereItHasANameOfItsOwn) {
  const std::string address = R"("coordinator": {"address": "h:7", "name": "meeting"}, "name": "a")";
  std::string text = config_text("label", address);
  EXPECT_ERROR(parse_party_config(text, "."), ErrorCode::invalid_argument, "/tls/peer_name");
  const std::string peer = ",\n    \"peer_name\": \"other\"";
  text.erase(text.find(peer), peer.size());
  const Result<PartyConfig> config = parse_party_config(text, ".");
  ASSERT_OK(config);
  EXPECT_EQ(config->name, "a");
}

TEST(CutTable, GivesEachPartyTheIdsAndAShareOfTheColumns) {
  const auto cut = cut_table("a,id,b,\"c,d\"\n1,\"x,\"\"y\",2,3\n4,z,5,6\n", 2);
  ASSERT_OK(cut);
  ASSERT_EQ(cut->size(), 2u);
  const Result<PartyTable> first = parse_party_table((*cut)[0], "1", "id", "");
  const Result<PartyTable> second = parse_party_table((*cut)[1], "2", "id", "");
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(first->names, (std::vector<std::string>{"a"}));
  EXPECT_EQ(second->names, (std::vector<std::string>{"b", "c,d"}));
  EXPECT_EQ(*first->ids, vertical::IdList({"x,\"y", "z"}));
  EXPECT_EQ(*second->ids, *first->ids);
  EXPECT_EQ(second->columns[1], (std::vector<float>{3, 6}));
  EXPECT_ERROR(cut_table("a,id\n1,x\n", 2), ErrorCode::invalid_argument, "for 2 parties");
}

TEST(VerticalDemoResult, JudgesTheWorseSideOfARegressionAlone) {
  VerticalDemoResult result;
  result.terms.model = VerticalModel::logistic;
  result.pooled.log_loss = 0.1;
  result.together.log_loss = 0.1029;
  EXPECT_TRUE(result.is_pooled());
  EXPECT_NE(demo_text(result, "folder").find("0.0029 above the one table's"), std::string::npos);
  result.together.log_loss = 0.1031;
  EXPECT_FALSE(result.is_pooled());
  result.together.log_loss = 0.05;
  EXPECT_TRUE(result.is_pooled());
  EXPECT_NE(demo_text(result, "folder").find("0.0500 below the one table's"), std::string::npos);
  result.together.log_loss = std::nan("");
  EXPECT_FALSE(result.is_pooled());
}

TEST(CoordinatorConfig, NamesTheFieldThatIsWrong) {
  const std::string tls = R"("tls": {"ca": "ca.pem", "certificate": "c.pem", "key": "/k.pem"})";
  const auto parse = [&tls](const std::string& more) {
    return parse_coordinator_config(R"({"jobs": "jobs", )" + tls + more + "}", "/folder");
  };
  const Result<CoordinatorConfig> config = parse(R"(, "listen": "[::1]:0", "limits": {"pairs_max": 3, "ask_ms": 9})");
  ASSERT_OK(config);
  EXPECT_EQ(config->listen.host, "::1");
  EXPECT_EQ(config->jobs, "/folder/jobs");
  EXPECT_EQ(config->tls.key_file, "/k.pem");
  EXPECT_EQ(config->limits.pairs_max, 3u);
  EXPECT_EQ(config->limits.ask_time, Millis(9));
  EXPECT_ERROR(parse(""), ErrorCode::invalid_argument, "/listen");
  EXPECT_ERROR(parse(R"(, "listen": "x")"), ErrorCode::invalid_argument, "/listen");
  EXPECT_ERROR(parse(R"(, "listen": "h:1", "limits": {"pairs": 1})"), ErrorCode::invalid_argument, "/limits/pairs");
  EXPECT_ERROR(parse(R"(, "listen": "h:1", "limits": {"pairs_max": 0})"), ErrorCode::invalid_argument, "pairs_max");
  EXPECT_EQ(parse(R"(, "listen": "h:1", "operators": ["fl-server"])")->operators,
            std::vector<std::string>{"fl-server"});
  EXPECT_ERROR(parse(R"(, "listen": "h:1", "operators": [""])"), ErrorCode::invalid_argument, "/operators");
}

TEST(JobFolder, ReadsWhatItWrote) {
  test::TemporaryDirectory directory{test::memory_disk()};
  JobFolder folder(directory / "jobs");
  EXPECT_TRUE(folder.read_all()->empty());
  vertical::JobRecord record{.job = {1, 2}, .manifest = {}, .submitted_by = 1, .changed = wall_time_from_unix_ms(5)};
  record.parties[0].name = "a";
  record.parties[1] = {.name = "b", .approval = {}, .is_done = false, .relayed_bytes = uint64_t{1} << 60};
  const auto signer = *make_signer(KeyAlgorithm::p256, generate_secret(KeyAlgorithm::p256));
  record.parties[1].approval = {.algorithm = KeyAlgorithm::p256,
                                .public_key = signer->public_key(),
                                .signature = *signer->sign(vertical::approval_message(record.job, record.manifest))};
  ASSERT_OK(folder.put(record));
  vertical::JobRecord other = record;
  other.job = {7};
  other.parties[1].approval.reset();
  other.state = vertical::JobState::cancelled;
  other.reason = "label_party_cancelled";
  other.kind = "vertical_trees";
  other.leakage = {"L1", "L3", "L4"};
  other.is_paused_by_operator = true;
  vertical::hear_stage(other.parties[1].stages,
                       {.stage = vertical::JobStage::training, .units = 3, .units_all = 9, .sent_bytes = 77}, true,
                       wall_time_from_unix_ms(8));
  ASSERT_OK(folder.put(other));
  const auto read = folder.read_all();
  ASSERT_OK(read);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0], record);
  EXPECT_EQ((*read)[1], other);
  ASSERT_OK(folder.remove(record.job));
  EXPECT_EQ(folder.read_all()->size(), 1u);
  // A third party has a key of its own.
  vertical::JobRecord ring = other;
  ring.parties.push_back({.name = "c", .is_paused = true});
  ring.submitted_by = 2;
  const Result<vertical::JobRecord> read_ring = parse_job_record(write_job_record(ring));
  ASSERT_OK(read_ring);
  EXPECT_EQ(*read_ring, ring);
  // An earlier version wrote neither kind, leakage, an operator's pause nor stages.
  auto old = nlohmann::json::parse(write_job_record(record));
  for (const char* key : {"kind", "leakage", "paused_by_operator"}) EXPECT_EQ(old.erase(key), 1u);
  for (const char* key : {"label_party", "feature_party"}) EXPECT_EQ(old[key].erase("stages"), 1u);
  EXPECT_EQ(*parse_job_record(old.dump()), record);
  old["leakage"] = {"L99"};
  EXPECT_ERROR(parse_job_record(old.dump()), ErrorCode::invalid_argument, "leakage");
  // What was not written by a coordinator is not believed: an approval that nobody signed, a state without approvals.
  other.parties[1].approval = record.parties[1].approval;
  EXPECT_ERROR(parse_job_record(write_job_record(other)), ErrorCode::unauthenticated, "b");
  vertical::JobRecord unapproved = record;
  unapproved.state = vertical::JobState::running;
  ASSERT_OK(folder.put(unapproved));
  EXPECT_ERROR(folder.read_all(), ErrorCode::data_loss, ".job");
}

TEST(JobFolder, ErasesTheSecretsOfJobsThatAreOver) {
  test::TemporaryDirectory directory{test::memory_disk()};
  JobFolder folder(directory.path());
  vertical::JobRecord open{.job = {1}, .manifest = {}, .changed = wall_time_from_unix_ms(5)};
  open.parties[0].name = "a";
  open.parties[1].name = "b";
  vertical::JobRecord over = open;
  over.job = {2};
  over.state = vertical::JobState::cancelled;
  over.reason = "label_party_cancelled";
  for (const vertical::JobRecord& record : {open, over}) ASSERT_OK(folder.put(record));
  const auto secret = [](uint8_t job) { return to_hex(std::array<uint8_t, 16>{job}) + ".dealer"; };
  for (const std::string& name : {secret(1), secret(2), secret(3), secret(1) + ".unfinished.0"}) {
    ASSERT_OK(os::write_file_atomically(directory / name, Bytes(32, 7)));
  }
  ASSERT_OK(folder.read_all());
  EXPECT_TRUE(os::exists(directory / secret(1)));
  EXPECT_EQ(folder.dealing_secret({1})->reveal()[0], 7);
  EXPECT_EQ(os::list_directory(directory.path())->size(), 3u) << "two jobs, one secret";
}

TEST(PartyInputs, AreKnownByTheirBytesAndByWhatIsTakenOfThem) {
  test::TemporaryDirectory directory{test::memory_disk()};
  PartyConfig config{.is_label_party = true, .table_file = directory / "t.csv"};
  const auto digest = [&](const char* text, const char* label, const char* id = "id") {
    EXPECT_OK(os::write_file_atomically(config.table_file, as_bytes(text)));
    config.label_column = label;
    config.id_column = id;
    const Result<PartyInputs> inputs = read_party_inputs(config, {});
    EXPECT_OK(inputs);
    return inputs ? inputs->digest : Digest();
  };
  constexpr const char* kNumbers = "id,other,a,b\n1,2,0,1\n";
  const Digest first = digest(kNumbers, "a");
  EXPECT_EQ(digest(kNumbers, "a"), first);
  EXPECT_NE(digest(kNumbers, "b"), first) << "other labels of the same file";
  EXPECT_NE(digest(kNumbers, "a", "other"), first) << "other ids";
  EXPECT_NE(digest("id,other,a,b\n1,2,0,2\n", "a"), first);

  // Packed, it is the same table.
  config.label_column = "a";
  config.id_column = "id";
  ASSERT_OK(os::write_file_atomically(config.table_file, test::stored_zstd(as_bytes(kNumbers))));
  const Result<PartyInputs> packed = read_party_inputs(config, {});
  ASSERT_OK(packed);
  EXPECT_EQ(packed->digest, first);
  EXPECT_EQ(*packed->table.ids, vertical::IdList({"1"}));

  // A prediction is also known by the model's columns.
  VerticalManifest manifest{.predicts = manifest_digest("abc")};
  config.model_file = directory / "model.part";
  const auto of_columns = [&](const std::vector<std::string>& columns) {
    const ModelPart part{.training = *manifest.predicts, .is_label_party = true, .columns = columns, .machine = {}};
    EXPECT_OK(os::write_file_atomically(config.model_file, write_model_part(part)));
    const Result<PartyInputs> inputs = read_party_inputs(config, manifest);
    EXPECT_OK(inputs);
    return inputs ? inputs->digest : Digest();
  };
  EXPECT_NE(of_columns({"a"}), of_columns({"b"}));
  EXPECT_EQ(of_columns({"a"}), of_columns({"a"}));
}

TEST(Party, GoesOnAfterAFullDisk) {
  for (const bool has_met : {false, true}) {
    EXPECT_TRUE(is_to_go_on(Error(ErrorCode::storage_full, ""), has_met));
    EXPECT_TRUE(is_to_go_on(Error(ErrorCode::cancelled, ""), has_met));
    EXPECT_FALSE(is_to_go_on(Error(ErrorCode::refused, "", "journal_differs"), has_met));
    EXPECT_EQ(is_to_go_on(Error(ErrorCode::unavailable, ""), has_met), has_met);
  }
}

TEST(Scores, CountTiesByHalf) {
  const std::array<float, 4> labels = {0, 0, 1, 1};
  EXPECT_EQ(judge_scores(std::array<float, 4>{0.1f, 0.2f, 0.3f, 0.4f}, labels).auc, 1);
  EXPECT_EQ(judge_scores(std::array<float, 4>{0.5f, 0.5f, 0.5f, 0.5f}, labels).auc, 0.5);
  EXPECT_EQ(judge_scores(std::array<float, 4>{0.1f, 0.3f, 0.3f, 0.2f}, labels).auc, 0.625);
  EXPECT_NEAR(judge_scores(std::array<float, 4>{0.5f, 0.5f, 0.5f, 0.5f}, labels).log_loss, std::log(2.0), 1e-7);
}

}  // namespace
}  // namespace coterie
