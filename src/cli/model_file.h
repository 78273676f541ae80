// MODEL on the command line: a file, or the name of a reference model, which is made when it is first asked for.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ridge::cli {

// A path, and a name that is no reference model's but may be a file, is returned as it is given. A reference model without
// a file of its name here is made under $XDG_CACHE_HOME/ridge/models, or found there. Errors: it cannot be made, or there is neither a
// file nor a reference model of this name.
Result<std::string> model_file(std::string_view verb, const std::string& given);

}  // namespace ridge::cli
