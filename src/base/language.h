// The languages of pages and explanations.
#pragma once

#include <cstddef>
#include <string_view>

namespace ridge {

enum class Language { kEnglish, kChinese };
inline constexpr size_t kLanguages = 2;

// By the beginning of a code or a locale: "zh", "zh_CN.UTF-8"; anything but Chinese is English.
Language language_of(std::string_view locale);
// The system's setting: the first of LC_ALL, LC_MESSAGES and LANG that is not empty (POSIX).
Language language_of_system();

}  // namespace ridge
