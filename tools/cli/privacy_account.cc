#include "tools/cli/privacy_account.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "secure/dp/account/calibrate.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "privacy account";
constexpr const char* kWho = "the operator";

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<Noise> noise_of(const PrivacyGroup& group) {
  const bool is_tree = group.mechanism == "tree";
  if (is_tree != group.separation.has_value() || (group.is_periodic && !is_tree)) {
    return Error(ErrorCode::invalid_argument,
                 is_tree ? "--mechanism tree needs --separation: the steps from one part of a person to the next"
                         : "--separation and --periodic are of --mechanism tree alone, not of " + group.mechanism);
  }
  if (is_tree) {
    const Participation participation = group.is_periodic ? Participation::periodic : Participation::separated;
    COT_ASSIGN(TreeNoise tree, tree_noise({group.steps, *group.separation, participation}, 1));
    return Noise(tree);
  }
  const double l2 = group.sensitivity;
  if (group.mechanism == "laplace") return Noise(LaplaceNoise{});
  if (group.mechanism == "discrete_gaussian") return Noise(DiscreteGaussianNoise{1, l2, group.is_scalar});
  if (group.mechanism == "discrete_laplace") return Noise(DiscreteLaplaceNoise{1, l2});
  if (group.mechanism == "skellam")
    return Noise(SkellamNoise{1, group.l1_sensitivity.value_or(std::max(l2, l2 * l2)), l2});
  return Noise(GaussianNoise{});
}

std::string epsilon_words(const EpsilonBound& bound) {
  if (!bound.epsilon) return "-";
  return std::isfinite(*bound.epsilon) ? format_fixed(*bound.epsilon, 6) : "unbounded";
}

void print_tables(const PrivacyAccount& account, std::optional<double> found_multiplier) {
  Table table({{"ACCOUNTANT"}, {"EPSILON", Table::Align::right}, {"NOTE"}});
  table.add({"exact", epsilon_words(account.exact), account.exact.note});
  table.add({"PLD", epsilon_words(account.pld), account.pld.note});
  char order[40];
  std::snprintf(order, sizeof order, "order %g", account.rdp_order);
  table.add({"RDP", epsilon_words(account.rdp), account.rdp.epsilon ? order : account.rdp.note});
  std::string text;
  if (found_multiplier) text += "noise multiplier " + format_fixed(*found_multiplier, 6) + "\n\n";
  text += table.text() + "\n";
  char delta[40];
  std::snprintf(delta, sizeof delta, "%g", account.delta);
  if (std::isfinite(account.epsilon)) {
    text +=
        "epsilon " + format_fixed(account.epsilon, 6) + " at delta " + delta + " (" + std::string(account.method) + ")";
  } else {
    text += std::string("no epsilon at delta ") + delta + ": nothing is protected";
  }
  if (account.rho) text += ", rho " + format_fixed(*account.rho, 6);
  text += "\n\nif all of this is true:\n";
  for (const std::string& assumption : account.assumptions) text += "  " + assumption + "\n";
  print_text(text);
}

nlohmann::json json_of(const EpsilonBound& bound) {
  nlohmann::json json{{"epsilon", nullptr}};
  if (bound.epsilon && std::isfinite(*bound.epsilon)) json["epsilon"] = *bound.epsilon;
  if (bound.epsilon) json["is_unbounded"] = !std::isfinite(*bound.epsilon);
  if (!bound.note.empty()) json["note"] = bound.note;
  return json;
}

void print_as_json(const PrivacyAccount& account, std::optional<double> found_multiplier) {
  nlohmann::json json{{"delta", account.delta},
                      {"exact", json_of(account.exact)},
                      {"pld", json_of(account.pld)},
                      {"rdp", json_of(account.rdp)},
                      {"epsilon", nullptr},
                      {"method", std::string(account.method)},
                      {"assumptions", account.assumptions}};
  if (account.rdp.epsilon) json["rdp"]["order"] = account.rdp_order;
  if (std::isfinite(account.epsilon)) json["epsilon"] = account.epsilon;
  if (account.rho) json["rho"] = *account.rho;
  if (found_multiplier) json["noise_multiplier"] = *found_multiplier;
  print_json(json);
}

Result<Composition> composition_of(const PrivacyCommand& command, double multiplier) {
  Composition composition;
  for (const PrivacyGroup& group : command.groups) {
    COT_ASSIGN(Releases releases, releases_of(group, multiplier));
    composition.push_back(std::move(releases));
  }
  return composition;
}

Status check(const PrivacyCommand& command) {
  size_t open = 0;  // groups whose noise is sought
  for (size_t i = 0; i < command.groups.size(); ++i) {
    if (command.groups[i].noise_multiplier) continue;
    ++open;
    if (command.target_epsilon) continue;
    return Error(
        ErrorCode::invalid_argument,
        "group " + std::to_string(i + 1) + " has no --noise-multiplier; name one, or --target-epsilon to find it");
  }
  if (!command.target_epsilon || open > 0) return {};
  return Error(
      ErrorCode::invalid_argument,
      "--target-epsilon finds a noise multiplier, but each group has one; leave out --noise-multiplier where it "
      "is to be found");
}

}  // namespace

Result<Sampling> parse_sampling(const std::string& text) {
  if (text == "none") return Sampling::none();
  const size_t colon = text.find(':');
  const std::string_view kind = std::string_view(text).substr(0, colon);
  const std::string_view rest = colon == std::string::npos ? "" : std::string_view(text).substr(colon + 1);
  if (kind == "poisson") {
    if (const auto rate = number_of<double>(rest)) return Sampling::assume_poisson(*rate, kWho);
  }
  const size_t slash = rest.find('/');
  if (kind == "without_replacement" && slash != std::string_view::npos) {
    const auto some = number_of<uint64_t>(rest.substr(0, slash));
    const auto all = number_of<uint64_t>(rest.substr(slash + 1));
    if (some && all) return Sampling::assume_without_replacement(*some, *all, kWho);
  }
  return Error(ErrorCode::invalid_argument,
               "must be none, poisson:RATE (poisson:0.01) or without_replacement:DRAWN/ALL "
               "(without_replacement:100/60000), is " +
                   text);
}

Result<Releases> releases_of(const PrivacyGroup& group, double multiplier) {
  COT_ASSIGN(Sampling sampling, parse_sampling(group.sampling));
  COT_ASSIGN(Noise noise, noise_of(group));
  const uint64_t count = std::holds_alternative<TreeNoise>(noise) ? 1 : group.steps;  // a tree is one release
  return Releases{with_multiplier(std::move(noise), group.noise_multiplier.value_or(multiplier)), std::move(sampling),
                  count};
}

ExitCode account_privacy(const PrivacyCommand& command) {
  const auto fail = [](const Error& error) {
    print_error(kCommand, error);
    return ExitCode::usage;
  };
  if (const Status checked = check(command); !checked) return fail(checked.error());
  const Result<Composition> composition = composition_of(command, 1);
  if (!composition) return fail(composition.error());
  std::optional<double> found;
  Result<PrivacyAccount> account = Error(ErrorCode::internal, "not computed");
  if (command.target_epsilon) {
    const auto at = [&command](double multiplier) { return composition_of(command, multiplier).value(); };
    Result<Calibration> calibration = calibrate_noise(at, *command.target_epsilon, command.delta);
    if (!calibration) return fail(calibration.error());
    found = calibration->noise_multiplier;
    account = std::move(calibration->account);
  } else {
    account = account_for(*composition, command.delta);
  }
  if (!account) return fail(account.error());
  command.as_json ? print_as_json(*account, found) : print_tables(*account, found);
  return ExitCode::ok;
}

}  // namespace coterie
