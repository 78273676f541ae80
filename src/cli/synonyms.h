// Names that the field's other tools give to options of ours. A verb that has the option accepts them all.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace ridge::cli {

// `arguments` with the names of `app`'s own options. An option that `app` declares itself stays as it is, and so does
// everything after "--".
std::vector<std::string> with_own_names(const CLI::App& app, std::span<const std::string> arguments);

// The names that it would replace.
std::vector<std::string> synonyms_for(const CLI::App& app);

// Names the option of `app` for another tool's option: ": use --precision fp16". Empty: not known.
std::string instead_of(const CLI::App& app, std::string_view name);

}  // namespace ridge::cli
