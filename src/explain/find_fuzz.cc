// Any bytes are a question: the search ends, within the promised number of answers, and every answer can be shown in
// both languages.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "explain/answer.h"
#include "explain/flag.h"

using namespace ridge::explain;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ridge::Result<Book> book = open_book({});
  if (!book) std::abort();
  const std::string_view query(reinterpret_cast<const char*>(data), size);
  const Match found = find(*book, query);
  if (found.hits.size() > kMostHits) std::abort();
  for (ridge::Language language : {ridge::Language::kEnglish, ridge::Language::kChinese})
    if (answers(*book, found, language).size() != found.hits.size()) std::abort();
  flags_in("verb", query);
  const auto entries = parse_entries(query, "fuzz", ridge::Language::kEnglish);
  return entries && entries->size() > size ? 1 : 0;
}
