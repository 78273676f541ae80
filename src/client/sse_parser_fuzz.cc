// SseParser on any bytes, in any pieces: never crashes, and what it makes of them does not depend on the pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "client/sse_parser.h"

namespace {

// Events, each behind its length, and how it ended.
std::string read_all(std::string_view bytes, size_t piece) {
  ridge::client::SseParser parser;
  std::string result;
  const auto event = [&](std::string_view data) { result += std::to_string(data.size()) + ":" + std::string(data); };
  bool good = true;
  while (!bytes.empty() && good) {
    good = parser.feed(bytes.substr(0, piece), event);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  good = good && parser.end(event);
  return result + (good ? "." : "!" + parser.problem());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = read_all(bytes, size + 1);
  for (const size_t piece : {1, 3})
    if (read_all(bytes, piece) != whole) std::abort();
  return 0;
}
