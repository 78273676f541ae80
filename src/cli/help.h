// The help text of the verbs: docs/cli/<verb>.md, embedded at build time, so that the site and --help cannot differ. Immutable.
#pragma once

#include <string_view>

namespace ridge::cli {

// The text of docs/cli/<verb>.md; empty if the verb has none. "ridge" is the overview.
std::string_view cli_help(std::string_view verb);

}  // namespace ridge::cli
