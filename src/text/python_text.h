// The methods of Python's str, of UTF-8; positions and lengths are in code points. Pure. What a template asks for has
// their names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::text {

bool python_space(char32_t c);
bool has_case(char32_t c);  // a letter that is small, large or titled

enum Side { kLeft = 1, kRight = 2, kBoth = 3 };
// strip(), lstrip(), rstrip(); `characters` not given: white space.
std::string stripped(std::string_view text, std::optional<std::string_view> characters = std::nullopt,
                     Side side = kBoth);

std::string upper_case(std::string_view text);
std::string lower_case(std::string_view text);
// The first letter of each word is large; a word begins behind each character of which `ends_word` is true.
std::string title_case(std::string_view text, bool (*ends_word)(char32_t));
bool is_digits(std::string_view text);
bool is_letters(std::string_view text);
bool is_letters_or_numbers(std::string_view text);
// islower(), isupper(): all letters that have a case have this one, and there are such.
bool all_in_case(std::string_view text, bool upper);

// split() and rsplit(); without `separator`: white space, else not empty. `most` splits; negative: all.
std::vector<std::string> split_text(std::string_view text, std::optional<std::string_view> separator, int64_t most = -1,
                                    Side from = kLeft);
std::vector<std::string> split_lines(std::string_view text, bool keep_ends = false);
std::vector<std::string> split_characters(std::string_view text);

}  // namespace ridge::text
