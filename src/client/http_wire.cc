#include "client/http_wire.h"

#include <string>

#include "client/response_parser.h"

namespace ridge::client {
namespace {

class HttpWire final : public Wire {
 public:
  HttpWire(const BodyLimits& keep, AnswerReader* reader) : parser_(keep, reader) {}

  void open() override {}

  void begin(const Request& request) override {
    unsent_ = request.bytes;
    input_.clear();
    parser_.reset();
    in_flight_ = true;
    answering_ = false;
  }

  std::string_view unsent() override { return unsent_; }
  void sent(size_t count) override { unsent_.remove_prefix(count); }

  Event feed(std::string_view received) override {
    if (!in_flight_) return Event::kBad;  // nothing was asked
    answering_ = true;
    const bool whole = input_.empty();
    if (!whole) input_.append(received);
    const ResponseParser::Step step = parser_.feed(whole ? received : std::string_view(input_));
    if (step.event == Event::kBad) return Event::kBad;
    if (whole)
      input_.assign(received.substr(step.consumed));
    else
      input_.erase(0, step.consumed);
    if (step.event == Event::kDone) {
      in_flight_ = false;
      // Cut short by an early answer, or followed by more than it: of no further use.
      if (!unsent_.empty() || !input_.empty()) parser_.response().keep_alive = false;
    }
    return step.event;
  }

  Event end() override { return in_flight_ ? parser_.end() : Event::kBad; }

  bool answering() const override { return answering_; }
  const Response& response() const override { return parser_.response(); }
  Failure bad() const override { return kNotHttp; }
  std::string_view bad_text() const override { return "the answer is not HTTP"; }

 private:
  ResponseParser parser_;
  std::string_view unsent_;
  std::string input_;  // not yet consumed by the parser
  bool in_flight_ = false, answering_ = false;
};

}  // namespace

std::unique_ptr<Wire> http_wire(const BodyLimits& keep, AnswerReader* reader) {
  return std::make_unique<HttpWire>(keep, reader);
}

}  // namespace ridge::client
