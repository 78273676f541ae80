// Values of members of OpenAI's requests, checked; errors name the member. Pure.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace ridge::front::openai {

Error wrong_member(std::string_view name, const char* expected, const simdjson::dom::element& found);
Error out_of_range(std::string_view name, const std::string& range, const simdjson::dom::element& found);

struct NumberRange {
  double least = 0, most = 0;
  bool above_least = false;  // the least itself is not allowed
};
Result<double> read_number(const simdjson::dom::element& value, std::string_view name, NumberRange range);
Result<int64_t> read_integer(const simdjson::dom::element& value, std::string_view name, int64_t least, int64_t most);
Result<std::vector<int32_t>> read_tokens(const simdjson::dom::element& value, std::string_view name);
// The memory that reading the body of a request takes at most [bytes], with the body. Dense lists take far more than
// their letters: those of tokens as the parser has them, all others as they are kept for a template or a grammar.
uint64_t bytes_to_read(std::string_view json);
// Any value, but objects of more than 1024 members.
Result<Json> json_of(const simdjson::dom::element& value, std::string_view name);

}  // namespace ridge::front::openai
