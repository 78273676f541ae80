// TokenStream: the answer of a language-model server of OpenAI's form, /v1/completions or /v1/chat/completions,
// streamed or whole → when its tokens came and how many there were.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "client/answer_reader.h"
#include "client/sse_parser.h"

namespace ridge::client {

// Record of one successful request.
struct TokenRecord {
  int64_t number = 0;          // of the request
  TimePoint sent;              // given to the system
  TimePoint first, last;       // events with text were here; both unset where the answer is not streamed
  std::vector<float> gaps_ms;  // between such events
  int64_t events = 0;          // with text
  int64_t prompt_tokens = 0, output_tokens = 0;  // by the server's `usage`
};

// One thread.
class TokenStream final : public AnswerReader {
 public:
  // Records go to `records`, which outlives it.
  TokenStream(bool streaming, const Clock& clock, std::vector<TokenRecord>& records)
      : streaming_(streaming), clock_(clock), records_(records) {}

  void begin(int64_t number) override;
  void take(std::string_view body) override;
  int end(TimePoint sent, std::string& why) override;

 private:
  void take_event(std::string_view data);
  void read(const Json& json);
  void fail(int failure, std::string why);

  const bool streaming_;
  const Clock& clock_;
  std::vector<TokenRecord>& records_;
  SseParser parser_;
  std::string body_;  // of an answer that is not streamed
  TokenRecord record_;
  TimePoint now_;  // of the bytes that are being read
  bool done_ = false, usage_ = false, has_text_ = false;
  int failure_ = 0;
  std::string why_;
};

}  // namespace ridge::client
