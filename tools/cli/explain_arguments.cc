// coterie model explain, model report: their grammar.
#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "device_sdk/runtime/limits.h"
#include "proto/messages/plan.h"
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/model_explain.h"
#include "tools/cli/model_importance.h"
#include "tools/cli/model_report.h"
#include "tools/data/load.h"

namespace coterie {
namespace {

std::string method_list() {
  std::string list = "Methods:\n";
  for (const AttributionMethod& method : attribution_methods()) {
    list +=
        "  " + std::string(method.name) + std::string(22 - method.name.size(), ' ') + std::string(method.what) + "\n";
  }
  return list +
         "  permutation           what the loss rises by where a feature is shuffled\n"
         "                        among all examples\n\n"
         "Exit code 1: with --check, a check does not hold.";
}

std::vector<std::string> attribution_names() {
  std::vector<std::string> names;
  for (const AttributionMethod& method : attribution_methods()) names.emplace_back(method.name);
  return names;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names = attribution_names();
  names.emplace_back(kPermutation);
  return names;
}

void add_loss(CLI::App* command, std::optional<Loss>& loss, const char* what) {
  command
      ->add_option_function<std::string>(
          "--loss", [&loss](const std::string& name) { loss = loss_from(name); }, what)
      ->type_name("NAME")
      ->check(one_of({loss_names().begin(), loss_names().end()}));
}

void add_settings(CLI::App* explain, AttributionSettings& settings) {
  explain->add_option("--baseline", settings.baseline, "what stands for nothing: each value of it")
      ->capture_default_str()
      ->check(between<double>(-1e30, 1e30));
  explain->add_option("--steps", settings.steps, "integrated_gradients: gradients on the way")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 100'000));
  explain->add_option("--samples", settings.samples, "smooth_gradient: noisy inputs")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 100'000));
  explain->add_option("--noise", settings.noise, "its standard deviation, of the input's range")
      ->default_str("0.15")
      ->check(between<double>(0, 100));
  explain->add_option("--masks", settings.masks, "rise: how many")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1'000'000));
  explain->add_option("--orders", settings.orders, "shapley: how many, each also backwards")
      ->capture_default_str()
      ->check(between<uint32_t>(2, 1'000'000));
  explain
      ->add_option("--patch", settings.patch,
                   "occlusion: height and width of what is covered (default: 4 or the image)")
      ->check(between<uint32_t>(1, 65'536));
  explain
      ->add_option("--stride", settings.stride,
                   "from one patch to the next, at most the patch (default: 2 or the patch)")
      ->check(between<uint32_t>(1, 65'536));
  explain->add_option("--layer", settings.layer, "grad_cam: the op that is read (default: the last convolution)")
      ->type_name("NAME");
  explain->add_option("--seed", settings.seed, "of noise, masks and orders")
      ->capture_default_str()
      ->check(between<uint64_t>(0, UINT64_MAX));
}

// Options that not every method reads, and the methods that do; permutation looks at all examples and outputs at once.
struct MethodOption {
  const char* option;
  std::vector<std::string_view> methods;
  bool is_of_checks = false;  // --check reads it, whatever the method
};

const std::vector<MethodOption>& method_options() {
  static const std::vector<MethodOption> all = [] {
    std::vector<std::string_view> of_examples;
    for (const AttributionMethod& method : attribution_methods()) of_examples.push_back(method.name);
    return std::vector<MethodOption>{{"--example", of_examples},
                                     {"--limit", of_examples},
                                     {"--class", of_examples},
                                     {"--check", of_examples},
                                     {"--png", of_examples},
                                     {"--run", of_examples},
                                     {"--baseline", {"integrated_gradients", "occlusion", "rise", "shapley"}, true},
                                     {"--steps", {"integrated_gradients"}},
                                     {"--samples", {"smooth_gradient"}},
                                     {"--noise", {"smooth_gradient"}},
                                     {"--masks", {"rise"}},
                                     {"--orders", {"shapley"}},
                                     {"--patch", {"occlusion"}},
                                     {"--stride", {"occlusion"}},
                                     {"--layer", {"grad_cam"}},
                                     {"--repeats", {kPermutation}},
                                     {"--loss", {kPermutation}}};
  }();
  return all;
}

// What is said though it means nothing is a mistake.
void refuse_unread(const CLI::App& explain, const std::string& method) {
  for (const auto& [option, methods, is_of_checks] : method_options()) {
    if (explain.count(option) == 0 || std::ranges::count(methods, method) > 0) continue;
    if (is_of_checks && method != kPermutation && explain.count("--check") > 0) continue;
    std::string readers;
    for (const std::string_view reader : methods) readers.append(readers.empty() ? "" : ", ").append(reader);
    throw CLI::ValidationError(option, "--method " + method + " does not read it: it is for " + readers);
  }
}

void add_report(CLI::App& model, Invocation& invocation) {
  CLI::App* report = add_command(model, "report", "what an auditor asks of a model, as one page",
                                 "  coterie model report net.cotf --data mnist:DIR\n"
                                 "  coterie model report runs/demo-1/model.cotf --run runs/demo-1 \\\n"
                                 "      --data runs/demo-1/held-out.cotf -o report.html\n"
                                 "  coterie model report net.cotf --data 'csv:adult.csv?target=income' --group sex\n"
                                 "  coterie model report net.cotf --data d/held-out.cotf \\\n"
                                 "      --members d/device-01.cotf\n\n"
                                 "The page has where the model comes from, privacy, accuracy by class, fairness\n"
                                 "by group, calibration, robustness and explained examples. Exit code 1: the run\n"
                                 "made another model, an answer is no number, training examples are told apart\n"
                                 "further than epsilon allows, or a check of the explanations does not hold.");
  const auto options = std::make_shared<ReportOptions>();
  report->add_option("FILE", options->model, "model file")->required()->type_name("");
  report->add_option("--data", options->data, std::string("a data set file, ") + kDataNames)
      ->required()
      ->type_name("DATA");
  report
      ->add_option("--members", options->members,
                   "examples that it was trained on, named as --data: also try how far they are told from those")
      ->type_name("DATA");
  report->add_option("--run", options->run, "the folder of the run that made it, of `coterie demo` or `simulate`")
      ->type_name("DIR");
  report
      ->add_option("--ledger", options->ledger,
                   "the privacy ledger, saved by `coterie privacy verify --save` (default: ledger.json of --run)")
      ->type_name("FILE");
  report
      ->add_option("--evaluation", options->evaluation,
                   "the result of an evaluation job, of `coterie job result JOB -o json`")
      ->type_name("FILE");
  report
      ->add_option(
          "--drill", options->drills,
          "the folder of a run in which devices lied (--attack), or of one to compare it with; may be given again")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  CLI::Option* const group =
      report
          ->add_option(
              "--group", options->group,
              "also judge by group: a column that says of each example whose it is; it may be an input or none")
          ->type_name("COLUMN");
  report
      ->add_option("--group-table", options->group_table,
                   "the table that has this column, a row an example (default: that of csv: data)")
      ->type_name("FILE")
      ->needs(group);
  report
      ->add_option("--positive", options->settings.positive,
                   "the class that is the good one to get (default: of two the second)")
      ->type_name("CLASS")
      ->needs(group);
  report->add_option("--group-min", options->group_examples_min, "smaller groups are put together as (other)")
      ->capture_default_str()
      ->check(between<uint64_t>(1, 1'000'000))
      ->needs(group);
  report
      ->add_option("-o,--file", options->to,
                   "where to write the page (default: beside the model, net.cotf gives net.report.html)")
      ->type_name("FILE");
  report->add_option("--limit", options->settings.explained, "examples that are explained")
      ->capture_default_str()
      ->check(between<uint32_t>(1, kExplainedMax));
  report->add_option("--method", options->settings.method, "how, as `model explain` has it")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of(attribution_names()));
  add_loss(report, options->settings.loss, "default: softmax_cross_entropy for labels, mean_squared_error for numbers");
  report->add_option("--threads", options->settings.threads, "at most so many, the results are the same bits")
      ->capture_default_str()
      ->check(between<uint32_t>(1, limits::kThreadsMax));
  report->add_option("--seed", options->settings.seed, "of all that chance decides")
      ->capture_default_str()
      ->check(between<uint64_t>(0, UINT64_MAX));
  report->add_flag("--json", options->as_json, "print the figures as JSON");
  report->callback([&invocation, options] { invocation.run = [options] { return report_model(*options); }; });
}

}  // namespace

void add_explain(CLI::App& model, Invocation& invocation) {
  CLI::App* explain = add_command(model, "explain", "what in an example a model's answer comes from",
                                  "  coterie model explain net.cotf --data mnist:DIR --png why.png\n"
                                  "  coterie model explain net.cotf --data 'csv:adult.csv?target=income' --top 8\n"
                                  "  coterie model explain net.cotf --data mnist:DIR --method grad_cam \\\n"
                                  "      --example 17 --class 3 --json\n"
                                  "  coterie model explain runs/demo-1/model.cotf --run runs/demo-1 \\\n"
                                  "      --data runs/demo-1/held-out.cotf --check\n\n" +
                                      method_list());
  const auto options = std::make_shared<ExplainOptions>();
  const auto importance = std::make_shared<ImportanceOptions>();
  explain->add_option("FILE", options->model, "model file")->required()->type_name("");
  explain->add_option("--data", options->data, std::string("a data set file, ") + kDataNames)
      ->required()
      ->type_name("DATA");
  explain->add_option("--method", options->method, "see below")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of(method_names()));
  explain
      ->add_option("--example", options->examples,
                   "this one, counted from 0; may be given again (default: the first --limit)")
      ->type_name("N")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(between<uint64_t>(0, UINT64_MAX));
  explain->add_option("--limit", options->limit, "examples, from the first")
      ->capture_default_str()
      ->check(between<uint64_t>(1, kExplainedMax));
  explain
      ->add_option("--class", options->picked, "explain this output, counted from 0 (default: each example's highest)")
      ->type_name("K")
      ->check(between<uint32_t>(0, UINT32_MAX));
  explain->add_option("--top", options->top, "values shown of each example, the strongest")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1'000'000));
  add_settings(explain, options->settings);
  explain
      ->add_option("--png", options->picture, "also draw them, of images: red speaks for the output, blue against it")
      ->type_name("FILE");
  explain
      ->add_option("--run", options->run,
                   "keep a picture of each in the folder of the run that made FILE, where `coterie console` shows it")
      ->type_name("DIR");
  explain->add_flag("--check", options->checks,
                    "compare with random orders, and with the model whose weights are shuffled");
  explain->add_option("--repeats", importance->repeats, "permutation: shuffles of each feature")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1000));
  add_loss(explain, importance->loss,
           "permutation: default softmax_cross_entropy for labels, mean_squared_error for numbers");
  explain->add_flag("--json", options->as_json, "print the result as JSON, with all values");
  explain->callback([&invocation, options, importance, explain] {
    refuse_unread(*explain, options->method);
    if (options->method != kPermutation) {
      invocation.run = [options] { return explain_model(*options); };
      return;
    }
    importance->model = options->model;
    importance->data = options->data;
    importance->top = options->top;
    importance->seed = options->settings.seed;
    importance->as_json = options->as_json;
    invocation.run = [importance] { return show_importance(*importance); };
  });
  add_report(model, invocation);
}

}  // namespace coterie
