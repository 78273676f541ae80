// Options of ridge's own verbs, found in their help texts (docs/cli/<verb>.md), so that exactly the documented options
// are explained. Immutable values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridge::explain {

struct Flag {
  std::string name;  // "--max-batch"
  std::string verb;  // "tune"
  std::string text;  // the lines that document it, "--max-batch N: largest batch to try (default 32)"
};

// The options that a help text documents: lines that begin, after blanks, with '-', and what is indented below them.
std::vector<Flag> flags_in(std::string_view verb, std::string_view help);

}  // namespace ridge::explain
