// ridge's own verbs and their options, found in the help texts (docs/cli/<verb>.md), so that exactly what is documented
// is explained. Immutable values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridge::explain {

struct Flag {
  std::string name;  // "--max-batch"; empty: the verb itself
  std::string verb;  // "tune"
  std::string
      text;  // what documents it: "--max-batch N: largest batch to try (default 32)"; of a verb its first paragraph
  std::string chinese = {};  // empty: in English only
};

// Gives the flags their Chinese from lines "--seconds: text", for every verb, and "power --size: text", for one.
void add_chinese(std::string_view lines, std::vector<Flag>& flags);

// The verb, and the options of its help text: the items "- `--name VALUE`: text" with their continuation.
std::vector<Flag> flags_in(std::string_view verb, std::string_view help);

}  // namespace ridge::explain
