// MODEL on the command line: a file, a URL, or the name of a reference model.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ridge::cli {

// Makes `model` the path of a file. A URL is downloaded first, with progress on stderr. A reference model without a
// file of its name here is made under $XDG_CACHE_HOME/ridge/models, or found there. Anything else stays as it is.
// Errors: it cannot be downloaded or made, or there is neither a file nor a reference model of this name.
Status fetch_model(std::string_view verb, std::string& model);
// Only URLs.
Status fetch_url(std::string& model);

// A folder with a config.json, a GGUF file, or a reference model that is one.
bool is_language_model(const std::string& model);
// Likewise, or its config.json alone.
bool has_language_config(const std::string& model);
// The line that compares GPUs for it.
std::string compare_gpus_line(const std::string& model);

}  // namespace ridge::cli
