// Any bytes as an S3 store's answer: a list, an upload, an error, and what is within their limits.
#include "base/assert.h"
#include "base/bytes.h"
#include "fl_server/store/s3/answers.h"
#include "fl_server/store/s3/xml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  using namespace coterie::s3;
  const std::string_view text = as_text({data, size});
  if (const Result<ListPage> page = parse_list(text)) {
    COT_ASSERT(page->objects.size() <= kListedMax && page->next.size() <= kTokenBytesMax);
    for (const ListedObject& object : page->objects)
      COT_ASSERT(!object.key.empty() && object.key.size() <= kKeyBytesMax);
  }
  if (const Result<std::string> id = parse_upload_id(text)) COT_ASSERT(!id->empty() && id->size() <= kTokenBytesMax);
  for (const int status : {200, 400, 403, 404, 503}) {
    const Failure failure = failure_of(status, text, "what");
    for (const char c : failure.error.message()) COT_ASSERT(c >= ' ' && c <= '~');
  }
  if (const Result<XmlElement> root = parse_xml(text)) {
    const Result<XmlElement> again =
        parse_xml("<" + root->name + ">" + xml_escaped(root->text) + "</" + root->name + ">");
    COT_ASSERT(again && again->text == root->text);
  }
  (void)parse_http_date(text);
  (void)parse_iso_time(text);
  return 0;
}
