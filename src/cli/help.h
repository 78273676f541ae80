// The help text of the verbs: docs/cli/<verb>.md, embedded, so that site and --help cannot differ. Immutable.
#pragma once

#include <string>
#include <string_view>

namespace ridge::cli {

// The text of docs/cli/<verb>.md; empty if the verb has none. "ridge" is the overview.
std::string_view cli_help(std::string_view verb);

// Such a text for a terminal of `width` columns. What the texts use of Markdown: one "# " title, which is left out, "##
// " headings, paragraphs, items "- text" and "- `OPTION`: text" (in two columns), code between ``` lines, `code` and
// [links](target) in a line.
std::string help_for_terminal(std::string_view markdown, size_t width);

}  // namespace ridge::cli
