// The MODEL of a command line: a path, or a URL of a file that is fetched first.
#pragma once

#include <string>

#include "base/result.h"

namespace ridge::cli {

// A URL becomes the path of its file, with progress on stderr. Anything else stays as it is.
Status fetch_model(std::string& model);

}  // namespace ridge::cli
