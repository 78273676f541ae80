// Pieces of JSON text, appended to a string: the fast path of answers, where a tree would cost more than the inference.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridge::front {

// Quoted and escaped. Bytes that are not UTF-8 become U+FFFD: for names and messages, which must never break an answer.
void append_json_string(std::string& text, std::string_view value);
void append_json_integer(std::string& text, int64_t value);
void append_json_integer(std::string& text, uint64_t value);
// The shortest text that reads back as the same bits; always recognisable as a fraction ("1.0", "-0.0"). Finite only.
void append_json_number(std::string& text, float value);
void append_json_number(std::string& text, double value);

}  // namespace ridge::front
