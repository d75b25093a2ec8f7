// coterie data make, coterie data inspect: their grammar.
#include <memory>

#include "tools/cli/arguments.h"
#include "tools/cli/data_commands.h"
#include "tools/cli/help.h"
#include "tools/data/load.h"

namespace coterie {
namespace {

constexpr const char* kSources =
    "Sources:\n"
    "  csv:FILE?target=COLUMN   a table with a header row; more options behind &:\n"
    "      as=class|number      what the target is, where the guess is wrong\n"
    "      target=A,B           several, for several outputs; as=class,number\n"
    "      drop=A,B             columns to leave out (names, row numbers)\n"
    "      category=A,B         columns of numbers that are names (postcodes)\n"
    "      missing=refuse       an error for a missing number, not the mean\n"
    "      numbers=raw          numbers as they are, not with mean 0, deviation 1\n"
    "      categories=codes     a category as one whole number, not as 0 and 1\n"
    "  images:DIR               a folder of JPEG and PNG files a class\n"
    "      ?height=32&width=32  resizes them; channels=1 makes them grey\n"
    "  npy:X.npy,Y.npy          NumPy arrays: inputs, and a target a row\n"
    "                           (?test=X.npy,Y.npy: the held-out part)\n"
    "  mnist:DIR, cifar10:DIR   IDX files, binary batches; digits is built in\n"
    "  ...?contract=FILE        read csv, npy or images as the data that the\n"
    "                           contract was made of: the same scales and classes\n\n";

constexpr const char* kSplits =
    "Splits:\n"
    "  iid               every device sees the same world\n"
    "  dirichlet:ALPHA   devices differ in classes and in size; 0.1 much, 100 little\n"
    "  shards:K          each device knows about K classes\n"
    "  quantity:ALPHA    the same world in unlike amounts\n"
    "  feature:noise     each device sees it through more noise (:SIGMA, default 0.5)\n"
    "  feature:rotate    each device turns its images (:DEGREES, default 45)\n"
    "  labels:turned     device groups name classes otherwise (:GROUPS, default 2)\n"
    "  group:COLUMN      a device for each value of a column, such as a hospital\n"
    "  file:FILE         line i says who has example i: 1, 2, ..., held-out or -\n\n";

void add_make(CLI::App& data, Invocation& invocation) {
  CLI::App* make =
      add_command(data, "make", "share a source out: a shard a device, one encoding for all",
                  std::string("  coterie data make 'csv:adult.csv?target=income' --devices 10 -o adult\n"
                              "  coterie data make 'csv:icu.csv?target=died' --split group:hospital -o icu\n"
                              "  coterie data make images:photos?height=32 --split dirichlet:0.3 -o ph\n\n") +
                      kSources + kSplits +
                      "Scales and categories are fitted once, on what is not held out, and stand\n"
                      "in DIR/contract.json. The same seed gives the same bytes.");
  const auto options = std::make_shared<DataMakeOptions>();
  options->data.split = DataSplit{};
  make->add_option("SOURCE", options->data.source, "what to share out; see below")->required()->type_name("");
  make->add_option("-o,--out", options->directory, "new or empty directory for the shards")
      ->required()
      ->type_name("DIR");
  make->add_option_function<std::string>(
          "--split", [options](const std::string& text) { options->data.split = parse_split(text).value(); },
          "who gets what; see below")
      ->default_str("iid")
      ->type_name("SPLIT")
      ->check(checked_by(&parse_split));
  make->add_option("--devices", options->data.devices, "shards to make (default 20, or as the split says)")
      ->check(between<uint32_t>(1, kShardDevicesMax));
  make->add_option("--held-out", options->data.held_out,
                   "part of the examples for no device, to judge by (default 0.2, or the source's own test part)")
      ->type_name("F")
      ->check(between(0.0, 0.9));
  make->add_option("--seed", options->data.seed, "of all that chance decides")
      ->capture_default_str()
      ->check(between<uint64_t>(0, UINT64_MAX));
  make->add_flag("--json", options->as_json, "print what was made as JSON");
  make->add_flag("--quiet", options->is_quiet, "no progress");
  make->callback([&invocation, options] {
    options->program = invocation.program;
    invocation.run = [options] { return make_data(*options); };
  });
}

void add_inspect(CLI::App& data, Invocation& invocation) {
  CLI::App* inspect = add_command(data, "inspect", "columns, classes, and who has what",
                                  "  coterie data inspect adult\n"
                                  "  coterie data inspect adult --svg adult.svg\n"
                                  "  coterie data inspect 'csv:adult.csv?target=income'\n"
                                  "  coterie data inspect adult/device-01.cotf -o json\n");
  const auto options = std::make_shared<DataInspectOptions>();
  inspect
      ->add_option("DATA", options->what,
                   "a directory of `coterie data make`, a data set file, or a source as `data make` takes it")
      ->required()
      ->type_name("");
  inspect->add_option("--svg", options->svg, "also draw who has what")->type_name("FILE");
  inspect->add_flag("--all", options->shows_all, "every device, not the first 40");
  add_output_option(*inspect, invocation.admin);
  inspect->callback([&invocation, options] {
    invocation.run = [&invocation, options] {
      options->as_json = invocation.admin.wants_json();
      return inspect_data(*options);
    };
  });
}

}  // namespace

void add_data(CLI::App& app, Invocation& invocation) {
  CLI::App* data = add_group(app, "data", "share data out to devices, look at data",
                             "  coterie data make 'csv:adult.csv?target=income' --devices 10 -o adult\n"
                             "  coterie data inspect adult\n"
                             "  coterie data cache stats ~/.cache/coterie\n");
  add_make(*data, invocation);
  add_inspect(*data, invocation);
  add_data_cache(*data, invocation);
  add_data_cache_options(*data, invocation);
}

}  // namespace coterie
