#include "cli/synonyms.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

namespace ridge::cli {
namespace {

struct Synonym {
  std::string_view name;
  std::string_view own;  // an option, or the argument without one
};

// docs/cli/ridge.md lists them.
constexpr std::array<Synonym, 6> kSynonyms = {{{"--batch-size", "--batch"},
                                               {"--duration", "--seconds"},
                                               {"--iterations", "--trials"},
                                               {"--port", "--http-port"},
                                               {"--model", "MODEL"},
                                               {"--model", "DIR"}}};

const Synonym* synonym_of(const CLI::App& app, const std::string& name) {
  if (app.get_option_no_throw(name) != nullptr) return nullptr;
  const auto found = std::find_if(kSynonyms.begin(), kSynonyms.end(), [&](const Synonym& row) {
    return row.name == name && app.get_option_no_throw(std::string(row.own)) != nullptr;
  });
  return found == kSynonyms.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> with_own_names(const CLI::App& app, std::span<const std::string> arguments) {
  std::vector<std::string> result;
  bool verbatim = false;
  for (const std::string& word : arguments) {
    const size_t equals = std::min(word.find('='), word.size());
    verbatim = verbatim || word == "--";
    const Synonym* synonym = verbatim || !word.starts_with("--") ? nullptr : synonym_of(app, word.substr(0, equals));
    if (synonym == nullptr)
      result.push_back(word);
    else if (synonym->own.starts_with('-'))
      result.push_back(std::string(synonym->own) + word.substr(equals));
    else if (equals < word.size())
      result.push_back(word.substr(equals + 1));
  }
  return result;
}

std::vector<std::string> synonyms_for(const CLI::App& app) {
  std::vector<std::string> names;
  for (const Synonym& row : kSynonyms)
    if (synonym_of(app, std::string(row.name)) != nullptr) names.emplace_back(row.name);
  return names;
}

}  // namespace ridge::cli
