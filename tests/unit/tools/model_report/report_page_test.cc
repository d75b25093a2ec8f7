// The page of an audit: what stands in it, that it is strict XML under a strict policy, whatever names say.
#include <gmock/gmock.h>

#include "tests/unit/tools/explain/planted_models.h"
#include "tests/unit/tools/strict_xml.h"
#include "tools/demo/hash_source.h"
#include "tools/model_report/report_page.h"

namespace coterie::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Elements, quotes, an override of the direction of text, half a character.
constexpr const char* kHostile =
    "</style><script>alert(1)</script> & \"x\" <img src='http://evil/'/>\u202egnp.\xe2\x80";

Explanation explanation_of(const Shape& shape) {
  Explanation one{.input = std::vector<float>(elements(shape), 0.5f), .target = std::vector<float>(1), .picked = 1};
  one.input[0] = 1;
  one.attribution = {shape, one.input};
  return one;
}

ModelAudit audit_of(const Shape& shape) {
  ModelAudit audit;
  audit.model_file = audit.data_name = audit.model.name = audit.model.digest = kHostile;
  audit.input = shape;
  audit.contract.emplace();
  audit.contract->columns = {{.name = kHostile, .is_category = true, .values = {kHostile, "b"}}};
  audit.contract->target.classes = {kHostile, "other"};
  audit.run.emplace();
  audit.run->model_digest = audit.run->security = kHostile;
  audit.run->job = audit.run->privacy = {{kHostile, kHostile}};
  audit.is_of_run = false;
  audit.evaluation = {.examples = 2, .loss_mean = std::nan(""), .accuracy = 0.5};
  audit.measures = {{kHostile, 1}};
  audit.classes.emplace(2);
  const std::vector<double> sure = {0.9, 0.1};
  audit.classes->add(sure, 0);
  audit.classes->add(sure, 1);
  GroupAnswers groups(make_groups(kHostile, std::vector<std::string>{kHostile, "b"}, 1), 1);
  groups.add(0, 0, 0.1);
  groups.add(0, 1, std::nan(""));
  audit.fairness = groups.judged(1);
  audit.ledger =
      LedgerProof{.file = kHostile, .head = kHostile, .populations = {{kHostile, kHostile}}, .assumptions = {kHostile}};
  audit.on_devices = DeviceFairness{.column = kHostile, .model_digest = kHostile, .all = {.name = kHostile}};
  audit.drills = {{.run = kHostile, .attack = kHostile, .aggregation = kHostile, .security = kHostile}};
  audit.not_attacked = audit.not_drilled = kHostile;
  audit.disturbances = {{kHostile, audit.evaluation}};
  audit.method = "gradient";
  audit.explanations = {explanation_of(shape)};
  audit.checks.emplace();
  audit.checks->own = audit.checks->random = {.falling = {1, 0.5, 0}, .rising = {0, 0.5, 1}};
  return audit;
}

Xml page_of(const ModelAudit& audit, std::string& policy) {
  const Result<std::string> page = report_page(audit);
  EXPECT_OK(page);
  const std::string first = "<!DOCTYPE html>\n";
  EXPECT_TRUE(page->starts_with(first));
  EXPECT_EQ(page->find("<script"), page->npos);
  EXPECT_EQ(page->find("\u202e"), page->npos) << "nothing turns the text around it";
  const Xml xml = read_xml(std::string_view(*page).substr(first.size()));
  EXPECT_EQ(xml.error, "");
  for (const XmlElement& meta : xml.named("meta")) {
    if (meta.attributes.contains("http-equiv")) policy = meta.attributes.at("content");
  }
  return xml;
}

TEST(ReportPage, IsStrictWhateverNamesSay) {
  for (const Shape& shape : {Shape{2}, Shape{4, 4, 1}}) {
    std::string policy;
    const Xml xml = page_of(audit_of(shape), policy);
    EXPECT_TRUE(xml.named("script").empty());
    EXPECT_TRUE(policy.starts_with("default-src 'none'; style-src 'sha256-")) << policy;
    EXPECT_EQ(xml.named("style").size(), 6u) << "of the page, the diagram, two groups' shares, two curves";
    for (const XmlElement& style : xml.named("style")) EXPECT_THAT(policy, HasSubstr(hash_source(style.text)));
    const bool is_image = shape.size() == 3;
    EXPECT_EQ(policy.find("img-src data:") != std::string::npos, is_image);
    ASSERT_EQ(xml.named("img").size(), is_image ? 1u : 0u);
    for (const XmlElement& image : xml.named("img")) {
      EXPECT_TRUE(image.attributes.at("src").starts_with("data:image/png;base64,iVBORw0KGgo"));
    }
    for (const XmlElement& element : xml.elements) {
      EXPECT_FALSE(element.attributes.contains("href")) << element.name;
      EXPECT_FALSE(element.attributes.contains("style")) << element.name << ": the policy forbids it";
    }
  }
}

TEST(ReportPage, SaysWhatIsKnownOfTheRun) {
  ModelAudit audit = audit_of({2});
  EXPECT_THAT(*report_page(audit), HasSubstr("This file is NOT the model that the run says it made"));
  audit.is_of_run = true;
  EXPECT_THAT(*report_page(audit), HasSubstr("the digests agree"));
  audit.run->security = "active_dp";
  EXPECT_THAT(*report_page(audit), HasSubstr("the devices added the noise to the sum themselves"));
  audit.run->privacy.clear();
  EXPECT_THAT(*report_page(audit), HasSubstr("The run names no epsilon"));
  audit.run.reset();
  const std::string alone = *report_page(audit);
  EXPECT_THAT(alone, HasSubstr("No folder of a run was given"));
  EXPECT_THAT(alone, HasSubstr("<td>40.0 %</td>"));
  audit.classes.reset();
  audit.explanations.clear();
  audit.not_explained = "several inputs";
  const std::string less = *report_page(audit);
  EXPECT_THAT(less, HasSubstr("Not explained: several inputs"));
  EXPECT_THAT(less, Not(HasSubstr("How sure it is")));
}

TEST(ReportPage, SaysHowTheLedgerIsVerified) {
  ModelAudit audit = audit_of({2});
  audit.ledger->file = "my ledger.json";
  audit.ledger->has_runs_head = true;
  const std::string page = *report_page(audit);
  EXPECT_THAT(page, HasSubstr("<code>coterie privacy verify --ledger 'my ledger.json'</code>"));
  EXPECT_THAT(page, HasSubstr("The head that the run names is among its records."));
  EXPECT_THAT(objections(audit), Not(Contains(HasSubstr("ledger"))));
  audit.ledger->has_runs_head = false;
  EXPECT_THAT(*report_page(audit), HasSubstr("NOT among its records"));
  EXPECT_THAT(objections(audit), Contains("the ledger does not have the head that the run names"));
  audit.ledger.reset();
  audit.run->ledger_head = "abcd";
  EXPECT_THAT(*report_page(audit), HasSubstr("<code>coterie --data-dir DIR privacy verify --save ledger.json</code>"));
}

TEST(ReportPage, ObjectsToWhatIsOfAnotherModel) {
  ModelAudit audit = audit_of({2});
  EXPECT_THAT(objections(audit), Contains("devices judged another model"));
  EXPECT_THAT(*report_page(audit), HasSubstr("They judged ANOTHER model"));
  EXPECT_THAT(*report_page(audit), HasSubstr("Objection: the file is not the model that the run made."));
  audit.on_devices->is_of_model = true;
  audit.on_devices->accuracy_gap = 0.25;
  EXPECT_THAT(*report_page(audit), HasSubstr("less the smallest: 25.0 points."));
}

TEST(ReportPage, SaysWhatAMembershipDrillFound) {
  ModelAudit audit = audit_of({2});
  audit.ledger.reset();
  EXPECT_THAT(*report_page(audit), HasSubstr("Not drilled: "));
  audit.membership = membership_drill(std::vector<double>(50, 0.1), std::vector<double>(200, 2));
  audit.membership->data_name = kHostile;
  const std::string page = *report_page(audit);
  EXPECT_THAT(page, HasSubstr("<td class=\"pair\">100.0 % <span>(92.9 to 100.0)</span></td><td>1 %</td><td>-</td>"));
  EXPECT_THAT(page, HasSubstr("<td>too few others</td>"));
  EXPECT_THAT(page, HasSubstr("No epsilon was accounted for"));
  audit.run->epsilon = 8;
  EXPECT_THAT(*report_page(audit), HasSubstr("No epsilon was accounted for")) << "without its delta it says nothing";
  audit.run->delta = 0;
  EXPECT_THAT(*report_page(audit), HasSubstr("epsilon 8.000 at delta 0 allows"));
  EXPECT_THAT(objections(audit), Not(Contains(HasSubstr("told apart"))));
  audit.run->epsilon = 0.5;
  EXPECT_THAT(*report_page(audit), HasSubstr("This is MORE than epsilon allows"));
  EXPECT_THAT(objections(audit), Contains("training examples are told apart further than epsilon 0.500 allows"));
  // The ledger counts before what the run says of itself.
  audit.ledger = LedgerProof{.populations = {{"p", "", 1, 1, 8.0}, {"q", "", 1, 0, 0.0}}};
  EXPECT_THAT(objections(audit), Not(Contains(HasSubstr("told apart"))));
}

TEST(ReportPage, SaysWhatGroupsAreCompared) {
  ModelAudit audit = audit_of({2});
  GroupAnswers groups(make_groups("sex", std::vector<std::string>{"a", "a", "b", "b", "c"}, 2), 1);
  for (const uint32_t said : {1u, 1u, 0u, 1u, 0u}) groups.add(said, 1, 0.1);
  audit.fairness = groups.judged(1);
  const std::string page = *report_page(audit);
  EXPECT_THAT(page, HasSubstr("The positive class is other."));
  EXPECT_THAT(page, HasSubstr("The group that is worst off is b."));
  EXPECT_THAT(page, HasSubstr("50.0 % <span>(9.5 to 90.5)</span>")) << "Wilson's interval of 1 in 2";
  EXPECT_THAT(page, HasSubstr("<td>50.0 points</td>"));
  EXPECT_THAT(page, HasSubstr("1 group has too few examples"));
  EXPECT_THAT(page, HasSubstr("Selection ratio, smallest by largest: 0.500"));
  EXPECT_THAT(page, Not(HasSubstr("equalised odds:"))) << "nobody is labelled otherwise";
}

}  // namespace
}  // namespace coterie::test
