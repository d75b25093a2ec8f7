// What a device keeps to itself: in plans, and in its own saved state beside what it keeps.
#include "proto/codec/flat.h"
#include "proto/messages/training_rules.h"

namespace coterie::flat {

flatbuffers::Offset<wire::Personal> build(flatbuffers::FlatBufferBuilder& builder, const PersonalSettings& message,
                                          uint8_t loss) {
  const auto parameters = message.parameters.empty() ? 0 : builder.CreateVectorOfStrings(message.parameters);
  return wire::CreatePersonal(builder, loss, static_cast<uint8_t>(message.kind), parameters, message.norms,
                              message.first_epochs, message.lambda, message.count);
}

Result<PersonalSettings> parse(const wire::Personal& table) {
  PersonalSettings settings{.kind = static_cast<PersonalKind>(table.kind()),
                            .parameters = {},
                            .norms = table.norms(),
                            .first_epochs = table.first_epochs(),
                            .lambda = table.lambda(),
                            .count = table.count()};
  if (table.parameters() == nullptr) return settings;
  if (table.parameters()->size() > kPersonalPatternsMax) return out_of_range("personal", "has too many patterns");
  for (const flatbuffers::String* pattern : *table.parameters()) {
    COT_ASSIGN(std::string name, text(pattern, "personal", kPatternBytesMax, 1));
    settings.parameters.push_back(std::move(name));
  }
  return settings;
}

}  // namespace coterie::flat
