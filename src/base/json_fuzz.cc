// Any bytes are either a JSON document or an error; a parsed value survives writing and reading.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto document = ridge::parse_json({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!document.ok()) return 0;
  auto again = ridge::parse_json(ridge::dump_json(*document), "fuzz, written again");
  if (!again.ok() || *again != *document) std::abort();
  return 0;
}
