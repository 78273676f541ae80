// Code points and UTF-8, for tokenizers and templates. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ridge::text {

constexpr char32_t kLastCodePoint = 0x10ffff, kFirstSurrogate = 0xd800, kLastSurrogate = 0xdfff;

// The code point at `at` of valid UTF-8; `at` moves behind it.
char32_t next_code_point(std::string_view text, size_t& at);
void append_utf8(std::string& text, char32_t code_point);
void append_lower(std::string& text, char32_t code_point);  // its small form, whatever stands beside it
size_t count_code_points(std::string_view text);

// How many bytes of `bytes` are certain: all but a beginning of a character that more bytes may end.
size_t certain_length(std::string_view bytes);
bool is_utf8(std::string_view bytes);
// Each longest beginning of a character that is none, and each other wrong byte, becomes U+FFFD (Unicode 15, section
// 3.9, as Rust's from_utf8_lossy).
std::string to_utf8(std::string_view bytes);

bool is_white_space(char32_t c);  // Unicode's White_Space
bool is_word(char32_t c);         // \w of UTS #18
}  // namespace ridge::text
