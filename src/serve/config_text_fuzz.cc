// Any bytes are either a model configuration, as config.pbtxt or, if they begin with a brace, as the JSON of a load
// request, or an error. What the wire then says of a configuration is JSON that means the same configuration.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "serve/config_json.h"
#include "serve/config_text.h"

using namespace ridge;
using namespace ridge::serve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config =
      !text.empty() && text.front() == '{' ? parse_config_json(text, "fuzz") : parse_config_text(text, "fuzz");
  if (!config) {
    if (config.error().message.empty()) std::abort();
    return 0;
  }
  const Json shown = config_to_json(**config);
  const std::string wire = shown.dump(-1, ' ', false, Json::error_handler_t::strict);
  const auto again = parse_config_json(wire, "again");
  if (!again || config_to_json(**again) != shown) std::abort();
  return 0;
}
