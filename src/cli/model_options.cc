#include "cli/model_options.h"

namespace ridge::cli {

Result<std::map<std::string, std::string>> parse_engine_options(const std::vector<std::string>& options) {
  std::map<std::string, std::string> parsed;
  for (const std::string& option : options) {
    size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{Code::kInvalid, "--engine-option takes KEY=VALUE, given '" + option + "'"};
    parsed[option.substr(0, equals)] = option.substr(equals + 1);
  }
  return parsed;
}

}  // namespace ridge::cli
