// Reading the JSON of requests whose size matters: simdjson's parser, with what the protocols need on top, and members
// of objects. Small calls of operators use base/json.h. One parser per thread; the rest is pure.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ridge::front {

// Keeps the memory of the largest text. What it returned is valid until the next parse().
class JsonParser {
 public:
  JsonParser();
  // `json` is a part of a Body, with readable bytes behind it. Integers beyond 64 bits become fractions. The error is
  // for the client.
  Result<simdjson::dom::object> parse(std::string_view json);

 private:
  simdjson::dom::parser parser_;
};

std::string in_quotes(std::string_view name);
Error wrong_type(std::string_view what, const char* expected, const simdjson::dom::element& found);
Result<std::string_view> read_string(const simdjson::dom::element& value, std::string_view what);
Result<bool> read_bool(const simdjson::dom::element& value, std::string_view what);
Result<int64_t> read_unsigned(const simdjson::dom::element& value, std::string_view what);

// A member of interest and where its value goes, which is empty before.
struct MemberTarget {
  std::string_view key;
  std::optional<simdjson::dom::element>* into;
};

// All members of an object; unknown ones are ignored. A wanted one that is given twice is ambiguous, and an error.
Status pick(const simdjson::dom::object& object, std::span<const MemberTarget> wanted);

}  // namespace ridge::front
