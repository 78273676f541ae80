// The keywords of JSON Schema: what each is about. Not for what they mean: json_schema.cc. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace ridge::text {

// Subject of a schema's keyword.
enum class Keyword : uint8_t {
  kNote,     // restricts nothing
  kSchemas,  // is about other schemas: $ref, anyOf, oneOf, allOf, not, if
  kValues,   // enum, const
  kType,
  kNullable,
  kObject,
  kArray,
  kString,
  kNumber,
};

// kUnsupported: a keyword that restricts documents and is not done here.
Result<Keyword> keyword_of(std::string_view name, const std::string& place);
// The words of an array's listed items and of the others; `old`: as until draft 2019-09.
struct ItemWords {
  const char *listed, *others;
  bool old;
};
ItemWords words_of_items(const Json& schema);
// The place of a member, as a JSON pointer (RFC 6901).
std::string place_of(const std::string& place, std::string_view member);
// Resolves "#/$defs/a%20b".
Result<const Json*> resolve(const Json& root, const Json& reference, const std::string& place);

// Types that it names under `type`.
Result<std::vector<std::string>> types_of(const Json& schema, const std::string& place);
// A type that keywords are about; null: of none.
const char* type_about(Keyword about);
bool is_of_type(const Json& value, std::string_view type);
// A count such as minLength: from 0 to a million.
Result<uint32_t> count_or(const Json& schema, const char* name, uint32_t otherwise, const std::string& place);

Error schema_error(Code code, const std::string& place, const std::string& message);

}  // namespace ridge::text
