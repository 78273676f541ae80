// ResponseParser on any bytes, in any pieces: never crashes, never consumes more than it was given, and what it makes
// of them does not depend on the pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "client/response_parser.h"

namespace {

using ridge::client::ResponseParser;

// "status:size:body" of each response; ends at the first bad one.
std::string read_all(std::string_view bytes, size_t piece) {
  ResponseParser parser({.ok = 64, .other = 64});
  std::string pending, result;
  while (!bytes.empty()) {
    pending += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (!pending.empty()) {
      const ResponseParser::Step step = parser.feed(pending);
      if (step.consumed > pending.size()) std::abort();
      pending.erase(0, step.consumed);
      if (step.event == ResponseParser::Event::kBad) return result;
      if (step.event == ResponseParser::Event::kNeedMore) break;
      const ridge::client::Response& response = parser.response();
      result += std::to_string(response.status) + ":" + std::to_string(response.body_size) + ":" + response.body + ";";
      parser.reset();
    }
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = read_all(bytes, size + 1);
  const std::string pieces = read_all(bytes, 3);
  for (const size_t piece : {1, 3}) {
    const std::string pieces = read_all(bytes, piece);
    // Pieces may be refused earlier or later, but never read differently.
    if (!whole.starts_with(pieces) && !pieces.starts_with(whole)) std::abort();
  }
  return 0;
}
