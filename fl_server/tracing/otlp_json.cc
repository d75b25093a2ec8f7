#include "fl_server/tracing/otlp_json.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/bytes.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr int kError = 2;  // StatusCode: STATUS_CODE_ERROR

std::string nanoseconds(Micros time) { return std::to_string(time.count()) + "000"; }

json value_json(const std::variant<std::string, int64_t, double>& value) {
  return std::visit(
      []<typename T>(const T& one) -> json {
        if constexpr (std::is_same_v<T, std::string>) return {{"stringValue", one}};
        else if constexpr (std::is_same_v<T, int64_t>) return {{"intValue", std::to_string(one)}};
        else return {{"doubleValue", one}};
      },
      value);
}

json attributes_json(const std::vector<Attribute>& attributes) {
  json list = json::array();
  for (const auto& [key, value] : attributes) list.push_back({{"key", key}, {"value", value_json(value)}});
  return list;
}

json span_json(const Span& span) {
  json out = {{"traceId", to_hex(span.trace)},
              {"spanId", to_hex(span.id)},
              {"name", span.name},
              {"kind", static_cast<int>(span.kind)},
              {"startTimeUnixNano", nanoseconds(span.begin)},
              {"endTimeUnixNano", nanoseconds(span.end)},
              {"attributes", attributes_json(span.attributes)}};
  if (span.parent) out["parentSpanId"] = to_hex(*span.parent);
  json moments = json::array();
  for (const Span::Moment& moment : span.moments) {
    moments.push_back({{"timeUnixNano", nanoseconds(moment.time)},
                       {"name", moment.name},
                       {"attributes", attributes_json(moment.attributes)}});
  }
  if (!moments.empty()) out["events"] = std::move(moments);
  if (span.error) out["status"] = {{"code", kError}, {"message", *span.error}};
  return out;
}

}  // namespace

std::string otlp_json(std::span<const Span> spans, const TracedService& service) {
  json list = json::array();
  for (const Span& span : spans) list.push_back(span_json(span));
  const std::vector<Attribute> who = {
      {"service.name", "coterie"}, {"service.version", service.version}, {"service.instance.id", service.node}};
  const json request = {
      {"resourceSpans",
       {{{"resource", {{"attributes", attributes_json(who)}}},
         {"scopeSpans", {{{"scope", {{"name", "coterie.rounds"}, {"version", service.version}}}, {"spans", list}}}}}}}};
  return request.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace coterie
