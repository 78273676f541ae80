// ridge tune FOLDER: how a language model is served best here. tune.cc tunes model files.
#pragma once

#include <span>
#include <string>

namespace ridge::cli {

// Returns an Exit.
int tune_language(std::span<const std::string> arguments);

}  // namespace ridge::cli
