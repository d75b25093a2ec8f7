#include <memory>

#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/vertical/party.h"

namespace coterie {
namespace {

constexpr const char* kGroupExamples =
    "  coterie vertical demo                 two parties on this machine\n"
    "  coterie vertical party --config label.json\n"
    "                        one party, next to its own data\n\n"
    "docs/VERTICAL.md says how it works and who learns what.";

constexpr const char* kDemoExamples =
    "  coterie vertical demo                 breast cancer (UCI): 10 columns and the\n"
    "                        label at one party, 20 columns at the other\n"
    "  coterie vertical demo --trees 20 --depth 4\n"
    "  coterie vertical demo --label-table mine.csv --feature-table theirs.csv\n\n"
    "Tables are CSV files with a header: a column id, at the label party a column\n"
    "label of 0 and 1, and columns of numbers (nothing, ? or NA: no value). One\n"
    "person in five is held out, by a hash of the id.\n\n"
    "Exit codes: 0 trained, and each score equals that of one table; 1 failed,\n"
    "2 usage or bad data, 130 interrupted (nothing is left behind).";

constexpr const char* kPartyExamples =
    "  coterie vertical party --config label.json\n\n"
    "label.json:\n"
    "  {\"role\": \"label\", \"manifest\": \"manifest.json\",\n"
    "   \"approved\": \"SHA-256 of manifest.json\", \"table\": \"label_party.csv\",\n"
    "   \"listen\": \"127.0.0.1:4711\", \"out\": \"results\",\n"
    "   \"tls\": {\"ca\": \"ca.pem\", \"certificate\": \"label-party.pem\",\n"
    "           \"key\": \"label-party.key\", \"peer_name\": \"feature-party\"}}\n"
    "The feature party has \"role\": \"feature\" and \"connect\" for \"listen\".\n"
    "`coterie vertical demo` leaves both parties' files to begin with.\n\n"
    "Exit codes: 0 done, 1 failed or refused, 2 usage or bad data, 4 the other\n"
    "party is lost, 5 it said nothing in time, 130 interrupted.";

}  // namespace

void add_vertical(CLI::App& app, Invocation& invocation) {
  CLI::App* group = add_group(
      app, "vertical", "jobs between organisations that have different columns of the same people", kGroupExamples);
  CLI::App* demo = add_command(*group, "demo", "train trees on two parties' columns, on this machine", kDemoExamples);
  VerticalDemoOptions& options = invocation.vertical;
  demo->add_option("--trees", options.trees, "trees to train")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1000));
  demo->add_option("--depth", options.depth, "of a tree")->capture_default_str()->check(between<uint32_t>(1, 8));
  demo->add_option("--bins", options.bins, "of a column")->capture_default_str()->check(between<uint32_t>(2, 256));
  CLI::Option* label =
      demo->add_option("--label-table", options.label_table, "the label party's CSV file, instead of the built-in one")
          ->type_name("FILE");
  CLI::Option* feature =
      demo->add_option("--feature-table", options.feature_table, "the feature party's, likewise")->type_name("FILE");
  label->needs(feature);
  feature->needs(label);
  demo->add_option("-o,--out", options.out, "folder for the results, new or empty (default runs/demo-DATE-TIME)")
      ->type_name("DIR");
  demo->callback([&invocation] { invocation.run = [&invocation] { return run_vertical_demo(invocation.vertical); }; });

  CLI::App* party = add_command(*group, "party", "run one party of a job, next to its data", kPartyExamples);
  const auto config = std::make_shared<std::string>();
  party->add_option("--config", *config, "what this party has and whom it meets")->required()->type_name("FILE");
  party->callback([&invocation, config] { invocation.run = [config] { return run_party_command(*config); }; });
}

}  // namespace coterie
