// Any bytes, in any pieces, are requests, an error, or an incomplete request; both ways of splitting agree.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "front/http/coding_fields.h"
#include "front/http/parser.h"
#include "front/http/repository_request.h"
#include "front/http/route.h"

using namespace ridge::front;
using namespace ridge::front::http;

namespace {

// A connection's result for `input` in pieces of `piece` bytes: one word per request, or "bad".
std::string story(std::string_view input, size_t piece) {
  RequestParser parser(4096);
  std::string told;
  std::string pending;
  bool in_chunks = false;
  Body body;
  body.start(0);
  for (size_t at = 0; at < input.size(); at += piece) {
    pending += input.substr(at, piece);
    while (true) {
      RequestParser::Step step = in_chunks ? parser.feed_chunks(pending, body, 1000) : parser.feed_head(pending);
      if (step.consumed > pending.size()) std::abort();
      pending.erase(0, step.consumed);
      if (step.event == RequestParser::Event::kBad) return told + " bad";
      if (step.event == RequestParser::Event::kNeedMore) break;
      if (step.event == RequestParser::Event::kHead) {
        told += " " + parser.head().target;
        static_cast<void>(route(parser.head().method, parser.head().target));
        in_chunks = parser.head().chunked;
        if (!in_chunks && parser.head().content_length.value_or(0) > 0) return told + " body";
      } else {
        told += " [" + std::string(body.text()) + "]";
        in_chunks = false;
      }
      if (in_chunks) continue;
      parser.reset();
      body.start(0);
      if (pending.empty()) break;
    }
  }
  return told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 4000) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = story(text, text.size() + 1);
  for (const size_t piece : {size_t{1}, size_t{1} + data[0] % 16}) {
    const std::string cut = story(text, piece);
    const bool bad = whole.ends_with(" bad") || cut.ends_with(" bad");  // an error may be detected earlier in one way
    if (!bad && whole != cut) std::abort();
  }
  Body decoded;
  const Coding coding = data[0] % 2 == 0 ? Coding::kGzip : Coding::kDeflate;
  static_cast<void>(decode(coding, std::as_bytes(std::span(text)), {1 << 20, "--limit"}, decoded));
  static_cast<void>(preferred_coding(text));
  static_cast<void>(read_load_request(text));
  return 0;
}
