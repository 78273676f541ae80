// A self-contained page: no network, no other files. It holds the object that a verb prints with --json, a charting library and
// the page's script, which draws the object; nothing is computed here.
//
// The object's content (node names may hold anything) is text in the page, never markup: it is in a script element with every
// '<' escaped, and the script writes only text nodes.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace ridge::report {

enum class Language { kEnglish, kChinese };
Result<Language> language_from_name(std::string_view name);  // "en", "zh"

enum class PageKind { kPlan, kTune, kPowerSweep, kLab };
// `value`: what `ridge plan`, `tune`, `power sweep` or `lab` prints with --json.
std::string page(PageKind kind, const Json& value, Language language);

// As text between tags or inside a quoted attribute.
std::string escape_html(std::string_view text);
// JSON as the content of a script element: '<', '>', '&' and the line separators U+2028, U+2029 as \u escapes, which only
// occur inside strings.
std::string escape_script_json(std::string_view json);

}  // namespace ridge::report
