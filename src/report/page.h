// A self-contained page: no network, no other files. It holds the document that a verb prints with --json, a charting
// library and the verb's script, which draws the document in either language; nothing is computed here.
//
// The document's content (node names may hold anything) is text in the page, never markup: it is in a script element
// with every '<' escaped, and the script writes only text nodes.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/language.h"

namespace ridge::report {

// `document` is drawn by the script of its verb, `about.verb`, at first in `language`. `columns`: of the tables of its
// lists, by the list's name: {"points": [{member, label, unit}]}. Error: the verb has no page.
Result<std::string> page(const Json& document, const Json& columns, Language language);

// Escapes text between tags or inside a quoted attribute.
std::string escape_html(std::string_view text);
// JSON as the content of a script element: '<', '>', '&' and the line separators U+2028, U+2029 as \u escapes, which
// only occur inside strings.
std::string escape_script_json(std::string_view json);

}  // namespace ridge::report
