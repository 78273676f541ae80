#include "base/language.h"

#include <cstdlib>

namespace ridge {

Language language_of(std::string_view locale) {
  return locale.starts_with("zh") ? Language::kChinese : Language::kEnglish;
}

Language language_of_system() {
  for (const char* variable : {"LC_ALL", "LC_MESSAGES", "LANG"})
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return language_of(value);
  return Language::kEnglish;
}

}  // namespace ridge
